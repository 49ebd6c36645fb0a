package logicalrag.analysis;

import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.miscellaneous.ASCIIFoldingFilter;
import org.elasticsearch.plugin.Inject;
import org.elasticsearch.plugin.NamedComponent;
import org.elasticsearch.plugin.analysis.TokenFilterFactory;
import org.elasticsearch.plugin.settings.AnalysisSettings;
import org.elasticsearch.plugin.settings.BooleanSetting;

/** Letters without their accents, with the original token beside the folded one on request. */
@NamedComponent("asciifolding")
public final class AsciiFoldingFilterFactory implements TokenFilterFactory {
    private final boolean preserveOriginal;

    @Inject
    public AsciiFoldingFilterFactory(Settings settings) {
        preserveOriginal = settings.preserveOriginal();
    }

    @Override
    public TokenStream create(TokenStream tokens) {
        return new ASCIIFoldingFilter(tokens, preserveOriginal);
    }

    @Override
    public TokenStream normalize(TokenStream tokens) {
        return new ASCIIFoldingFilter(tokens, false);
    }

    @AnalysisSettings
    public interface Settings {
        @BooleanSetting(path = "preserve_original", defaultValue = false)
        boolean preserveOriginal();
    }
}
