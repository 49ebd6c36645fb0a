package logicalrag.analysis;

import java.util.List;
import java.util.regex.Pattern;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.pattern.PatternCaptureGroupTokenFilter;
import org.elasticsearch.plugin.Inject;
import org.elasticsearch.plugin.NamedComponent;
import org.elasticsearch.plugin.analysis.TokenFilterFactory;
import org.elasticsearch.plugin.settings.AnalysisSettings;
import org.elasticsearch.plugin.settings.BooleanSetting;
import org.elasticsearch.plugin.settings.ListSetting;

/** One token for each group that the patterns capture: the index of API keys is mapped with it. */
@NamedComponent("pattern_capture")
public final class PatternCaptureFilterFactory implements TokenFilterFactory {
    private final Pattern[] patterns;
    private final boolean preserveOriginal;

    @Inject
    public PatternCaptureFilterFactory(Settings settings) {
        patterns = settings.patterns().stream().map(Pattern::compile).toArray(Pattern[]::new);
        preserveOriginal = settings.preserveOriginal();
    }

    @Override
    public TokenStream create(TokenStream tokens) {
        return new PatternCaptureGroupTokenFilter(tokens, preserveOriginal, patterns);
    }

    @AnalysisSettings
    public interface Settings {
        @ListSetting(path = "patterns")
        List<String> patterns();

        @BooleanSetting(path = "preserve_original", defaultValue = true)
        boolean preserveOriginal();
    }
}
