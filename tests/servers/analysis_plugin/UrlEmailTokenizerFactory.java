package logicalrag.analysis;

import org.apache.lucene.analysis.Tokenizer;
import org.apache.lucene.analysis.email.UAX29URLEmailTokenizer;
import org.elasticsearch.plugin.NamedComponent;
import org.elasticsearch.plugin.analysis.TokenizerFactory;

/** Unicode words, with addresses kept whole: the index of API keys is mapped with it. */
@NamedComponent("uax_url_email")
public final class UrlEmailTokenizerFactory implements TokenizerFactory {
    @Override
    public Tokenizer create() {
        return new UAX29URLEmailTokenizer();
    }
}
