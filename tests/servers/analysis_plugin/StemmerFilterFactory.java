package logicalrag.analysis;

import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.en.EnglishMinimalStemFilter;
import org.apache.lucene.analysis.en.EnglishPossessiveFilter;
import org.apache.lucene.analysis.en.KStemFilter;
import org.apache.lucene.analysis.en.PorterStemFilter;
import org.apache.lucene.analysis.snowball.SnowballFilter;
import org.elasticsearch.plugin.Inject;
import org.elasticsearch.plugin.NamedComponent;
import org.elasticsearch.plugin.analysis.TokenFilterFactory;
import org.elasticsearch.plugin.settings.AnalysisSettings;
import org.elasticsearch.plugin.settings.StringSetting;
import org.tartarus.snowball.ext.EnglishStemmer;

/** English stems, under the names that the full server has for the algorithms. */
@NamedComponent("stemmer")
public final class StemmerFilterFactory implements TokenFilterFactory {
    private final String language;

    @Inject
    public StemmerFilterFactory(Settings settings) {
        language = settings.language();
    }

    @Override
    public TokenStream create(TokenStream tokens) {
        return switch (language) {
            case "english", "porter" -> new PorterStemFilter(tokens);
            case "english2", "porter2" -> new SnowballFilter(tokens, new EnglishStemmer());
            case "light_english", "kstem" -> new KStemFilter(tokens);
            case "minimal_english" -> new EnglishMinimalStemFilter(tokens);
            case "possessive_english" -> new EnglishPossessiveFilter(tokens);
            default -> throw new IllegalArgumentException("no stemmer for [" + language + "] here");
        };
    }

    @AnalysisSettings
    public interface Settings {
        @StringSetting(path = "language", defaultValue = "porter")
        String language();
    }
}
