package logicalrag.analysis;

import java.io.IOException;
import org.apache.lucene.analysis.CharArraySet;
import org.apache.lucene.analysis.FilteringTokenFilter;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.miscellaneous.RemoveDuplicatesTokenFilter;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.elasticsearch.plugin.Inject;
import org.elasticsearch.plugin.NamedComponent;
import org.elasticsearch.plugin.analysis.TokenFilterFactory;
import org.elasticsearch.plugin.settings.AnalysisSettings;
import org.elasticsearch.plugin.settings.BooleanSetting;

/** The first of equal tokens: of the whole text, or of one position. */
@NamedComponent("unique")
public final class UniqueFilterFactory implements TokenFilterFactory {
    private final boolean onlyOnSamePosition;

    @Inject
    public UniqueFilterFactory(Settings settings) {
        onlyOnSamePosition = settings.onlyOnSamePosition();
    }

    @Override
    public TokenStream create(TokenStream tokens) {
        return onlyOnSamePosition
                ? new RemoveDuplicatesTokenFilter(tokens)
                : new FirstOfEqualTokens(tokens);
    }

    @AnalysisSettings
    public interface Settings {
        @BooleanSetting(path = "only_on_same_position", defaultValue = false)
        boolean onlyOnSamePosition();
    }

    private static final class FirstOfEqualTokens extends FilteringTokenFilter {
        private final CharTermAttribute term = addAttribute(CharTermAttribute.class);
        private final CharArraySet seen = new CharArraySet(8, false);

        FirstOfEqualTokens(TokenStream tokens) {
            super(tokens);
        }

        @Override
        protected boolean accept() {
            // The set keeps what it is given, and the attribute's buffer is used again.
            return seen.add(term.toString());
        }

        @Override
        public void reset() throws IOException {
            super.reset();
            seen.clear();
        }
    }
}
