package openaichat

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// encodeSchema narrows a tool's schema to what the vendor accepts.
func (d Dialect) encodeSchema(def llm.ToolDefinition) jsontext.Value {
	raw := wire.ToolParameters(def)
	if d.Schema == SchemaMoonshot {
		raw = wire.RewriteSchemas(raw, narrowForMoonshot)
	}
	return raw
}

// narrowForMoonshot removes what Kimi's endpoints refuse: siblings of $ref, tuples, unevaluatedItems.
func narrowForMoonshot(n wire.Object) wire.Object {
	if ref, ok := n["$ref"]; ok {
		return wire.Object{"$ref": ref}
	}
	for _, key := range []string{"prefixItems", "items"} {
		if list, ok := wire.ReadList(n[key]); ok {
			delete(n, key)
			if len(list) > 0 {
				n["items"] = list[0]
			}
		}
	}
	delete(n, "unevaluatedItems")
	return n
}
