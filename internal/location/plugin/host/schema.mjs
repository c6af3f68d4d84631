// The JSON Schemas of the arguments of tools, which may be made with zod.
import { pathToFileURL } from "node:url";
import { findModule, findPackage, shared } from "./packages.mjs";

// zodsFor returns the copies of zod that a plugin's schemas may be made with, the likeliest first: that of OpenCode's
// package, its own, and the shared one.
async function zodsFor(one) {
  const kit = findPackage("@opencode-ai/plugin", one.from) ?? (shared && findPackage("@opencode-ai/plugin", shared));
  const files = [kit, one.from, shared].filter(Boolean).map((from) => findModule("zod", from));
  return Promise.all([...new Set(files.filter(Boolean))].map((file) => import(pathToFileURL(file).href)));
}

// schemaOf returns the JSON Schema of a tool's arguments. The definition keeps what parses them.
export async function schemaOf(one, definition) {
  const args = definition.args ?? {};
  if (args.type === "object" && args.properties && !args.type._zod) return args;
  const values = Object.values(args);
  if (!values.every((value) => value?._zod)) return objectSchema(args);
  let failure = new Error("the package zod is not installed; run: cairn plugin update");
  for (const { z } of await zodsFor(one)) {
    try {
      const shape = z.object(args);
      const schema = z.toJSONSchema(shape, { io: "input", unrepresentable: "any" });
      one.parsers.set(definition, shape);
      addDescriptions(schema, args);
      return schema;
    } catch (e) {
      failure = e; // another copy of zod than that which made the schema
    }
  }
  if (values.length === 0) return { type: "object", properties: {} };
  throw failure;
}

// addDescriptions adds those that zod keeps beside its schemas, where only the copy that made a schema finds them.
function addDescriptions(schema, shape) {
  for (const [name, value] of Object.entries(shape)) {
    const member = schema.properties?.[name];
    if (!member) continue;
    let inner = value;
    for (; inner && !member.description; inner = inner._zod?.def?.innerType) member.description = inner.description;
    while (inner?._zod?.def?.innerType) inner = inner._zod.def.innerType;
    const nested = inner?._zod?.def?.shape;
    if (nested) addDescriptions(member, nested);
    const element = inner?._zod?.def?.element?._zod?.def?.shape;
    if (element && member.items) addDescriptions(member.items, element);
  }
}

// objectSchema returns the JSON Schema of a shape of zod 3, as far as tools use it.
function objectSchema(shape) {
  const out = { type: "object", properties: {}, required: [] };
  for (const [name, value] of Object.entries(shape)) {
    const [schema, isOptional] = oldSchema(value);
    out.properties[name] = schema;
    if (!isOptional) out.required.push(name);
  }
  return out;
}

function oldSchema(value) {
  const about = value?._def ?? {};
  const of = (v) => oldSchema(v)[0];
  let schema = {};
  let isOptional = false;
  switch (about.typeName) {
    case "ZodString": schema = { type: "string" }; break;
    case "ZodNumber": schema = { type: "number" }; break;
    case "ZodBoolean": schema = { type: "boolean" }; break;
    case "ZodArray": schema = { type: "array", items: of(about.type) }; break;
    case "ZodEnum": schema = { enum: about.values }; break;
    case "ZodLiteral": schema = { const: about.value }; break;
    case "ZodObject": schema = objectSchema(about.shape()); break;
    case "ZodRecord": schema = { type: "object", additionalProperties: of(about.valueType) }; break;
    case "ZodUnion": schema = { anyOf: about.options.map(of) }; break;
    case "ZodNullable": schema = { anyOf: [of(about.innerType), { type: "null" }] }; break;
    case "ZodOptional": case "ZodDefault": [schema, isOptional] = [of(about.innerType), true]; break;
    case "ZodEffects": schema = of(about.schema); break;
  }
  if (value?.description) schema = { ...schema, description: value.description };
  return [schema, isOptional];
}
