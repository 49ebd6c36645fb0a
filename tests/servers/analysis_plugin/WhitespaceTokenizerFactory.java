package logicalrag.analysis;

import org.apache.lucene.analysis.Tokenizer;
import org.apache.lucene.analysis.core.WhitespaceTokenizer;
import org.elasticsearch.plugin.Inject;
import org.elasticsearch.plugin.NamedComponent;
import org.elasticsearch.plugin.analysis.TokenizerFactory;
import org.elasticsearch.plugin.settings.AnalysisSettings;
import org.elasticsearch.plugin.settings.IntSetting;

/** Tokens are what lies between white space; longer ones than {@code max_token_length} are cut. */
@NamedComponent("whitespace")
public final class WhitespaceTokenizerFactory implements TokenizerFactory {
    private final int maxTokenLength;

    @Inject
    public WhitespaceTokenizerFactory(Settings settings) {
        maxTokenLength = settings.maxTokenLength();
    }

    @Override
    public Tokenizer create() {
        return new WhitespaceTokenizer(maxTokenLength);
    }

    @AnalysisSettings
    public interface Settings {
        @IntSetting(path = "max_token_length", defaultValue = 255)
        int maxTokenLength();
    }
}
