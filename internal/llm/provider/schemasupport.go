package provider

import (
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/anthropic"
	"github.com/cairn-dev/cairn/internal/llm/gemini"
)

// schemaSupport returns how far a vendor makes a model's answers conform to a schema. A model that the catalog excludes
// is unsupported. If the catalog does not mention structured output, the model's name decides where it can.
func schemaSupport(v Vendor, f Facts) llm.SchemaSupport {
	isKnown := f.StructuredOutput != nil
	isCapable := isKnown && *f.StructuredOutput
	if isKnown && !isCapable {
		return llm.SchemaUnsupported
	}
	switch v.Wire {
	case Messages: // at Google an organisation has to enable it first
		if isCapable || v.Scheme != AuthGoogle && anthropic.NewDialect(f.ModelID, f.Reasoning).NativeFormat {
			return llm.SchemaSupported
		}
	case Gemini:
		return gemini.SchemaSupport(f.ModelID)
	case Responses:
		if isCapable {
			return llm.SchemaSupported
		}
	case Chat:
		if isCapable {
			return v.SchemaSupport
		}
	case Converse:
	}
	return llm.SchemaUnsupported
}
