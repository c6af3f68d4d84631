package v1

import (
	"reflect"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/openapi"
)

// requestUnions describes the request types that have variants.
func requestUnions() map[reflect.Type]openapi.Union {
	return map[reflect.Type]openapi.Union{
		typeOf[opencode.PartInput](): {Open: true, By: "type", Of: map[string]reflect.Type{
			"text": typeOf[opencode.TextPartInput](), "file": typeOf[opencode.FilePartInput](),
			"agent": typeOf[opencode.AgentPartInput](), "subtask": typeOf[opencode.SubtaskPartInput](),
		}},
		typeOf[opencode.Format](): {Open: true, By: "type", Of: map[string]reflect.Type{
			"text": typeOf[opencode.TextFormat](), "json_schema": typeOf[opencode.SchemaFormat](),
		}},
		typeOf[credentialBody](): {Open: true, By: "type", Of: map[string]reflect.Type{
			"api": typeOf[opencode.KeyInput](), "oauth": typeOf[opencode.TokensInput](),
		}},
		typeOf[tuiEvent](): {Open: true, By: "type", In: "properties", Of: map[string]reflect.Type{
			kindAppend: typeOf[tuiText](), kindToast: typeOf[toast](), kindSelect: typeOf[tuiSession](),
			kindCommand: tuiCommand{}.DocumentType(),
		}},
	}
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }
