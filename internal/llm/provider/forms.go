package provider

import (
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/anthropic"
	"github.com/cairn-dev/cairn/internal/llm/gemini"
)

// forms says how far a vendor holds a model's answers to a schema. What the catalog denies is not tried. Where the
// names of models tell, it may be silent; elsewhere it must say so.
func forms(v Vendor, f Facts) llm.SchemaSupport {
	said, able := f.Structured != nil, f.Structured != nil && *f.Structured
	if said && !able {
		return llm.SchemaUnsupported
	}
	switch v.Wire {
	case Messages: // at Google, organisations must allow it first
		if able || v.Scheme != ByGoogle && anthropic.For(f.ModelID, f.Reasoning).NativeFormat {
			return llm.SchemaSupported
		}
	case Gemini:
		return gemini.Forms(f.ModelID)
	case Responses:
		if able {
			return llm.SchemaSupported
		}
	case Chat:
		if able {
			return v.Forms
		}
	case Converse:
	}
	return llm.SchemaUnsupported
}
