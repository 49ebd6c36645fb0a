package logicalrag.analysis;

import java.util.regex.Pattern;
import org.apache.lucene.analysis.Tokenizer;
import org.apache.lucene.analysis.pattern.PatternTokenizer;
import org.elasticsearch.plugin.Inject;
import org.elasticsearch.plugin.NamedComponent;
import org.elasticsearch.plugin.analysis.TokenizerFactory;
import org.elasticsearch.plugin.settings.AnalysisSettings;
import org.elasticsearch.plugin.settings.IntSetting;
import org.elasticsearch.plugin.settings.StringSetting;

/** Tokens are what a pattern matches ({@code group >= 0}) or what lies between its matches (-1). */
@NamedComponent("pattern")
public final class PatternTokenizerFactory implements TokenizerFactory {
    private final Pattern pattern;
    private final int group;

    @Inject
    public PatternTokenizerFactory(Settings settings) {
        pattern = Pattern.compile(settings.pattern());
        group = settings.group();
    }

    @Override
    public Tokenizer create() {
        return new PatternTokenizer(pattern, group);
    }

    @AnalysisSettings
    public interface Settings {
        @StringSetting(path = "pattern", defaultValue = "\\W+")
        String pattern();

        @IntSetting(path = "group", defaultValue = -1)
        int group();
    }
}
