// Whether an answer is what a document of the server says of it: OpenAPI 3.1, as far as cairn's documents go, and the JSON
// schemas of the Agent Client Protocol. A keyword that is not known here is a mistake and not passed over.

const kind = (v) => (v === null ? "null" : Array.isArray(v) ? "array" : Number.isInteger(v) ? "integer" : typeof v)
const silent = new Set(["description", "title", "default", "examples", "format", "$schema", "discriminator", "contentEncoding", "unevaluatedProperties"])

const words = {
  type: (s, v) => [s.type].flat().some((t) => t === kind(v) || (t === "number" && kind(v) === "integer")) || `is ${kind(v)}, not ${s.type}`,
  enum: (s, v) => s.enum.includes(v) || `${JSON.stringify(v)} is none of ${s.enum}`,
  const: (s, v) => s.const === v || `is ${JSON.stringify(v)}, not ${JSON.stringify(s.const)}`,
  minimum: (s, v) => !(typeof v === "number" && v < s.minimum) || `is less than ${s.minimum}`,
  maximum: (s, v) => !(typeof v === "number" && v > s.maximum) || `is more than ${s.maximum}`,
  minLength: (s, v) => !(typeof v === "string" && v.length < s.minLength) || `has less than ${s.minLength} characters`,
  pattern: (s, v) => !(typeof v === "string" && !new RegExp(s.pattern, "u").test(v)) || `does not match ${s.pattern}`,
  minItems: (s, v) => !(Array.isArray(v) && v.length < s.minItems) || `has less than ${s.minItems} items`,
  maxItems: (s, v) => !(Array.isArray(v) && v.length > s.maxItems) || `has more than ${s.maxItems} items`,
  maxProperties: (s, v) => !(kind(v) === "object" && Object.keys(v).length > s.maxProperties) || `has more than ${s.maxProperties} members`,
  required: (s, v) => kind(v) !== "object" || missing(s.required, v) === undefined || `has no ${missing(s.required, v)}`,
}
const missing = (names, v) => names.find((n) => !(n in v))

export class Document {
  constructor(text) {
    Object.assign(this, text)
  }

  // answer finds the wrongs of an answer to a template such as "GET /session/{}".
  answer(operation, status, data) {
    const [method, ...rest] = operation.split(" ")
    const at = Object.keys(this.paths).find((p) => p.replace(/\{\w+\}/g, "{}") === rest.join(" "))
    const said = this.paths[at]?.[method.toLowerCase()]
    if (!said) return [`${operation} is not in the document`]
    const one = said.responses[status]
    if (!one) return [`${operation} does not tell of a ${status}`]
    const schema = Object.values(one.content ?? {})[0]?.schema
    return schema ? this.wrongs(schema, data) : []
  }

  // wrongs says at which place a value is not what the schema says.
  wrongs(schema, v, at = "$") {
    if (typeof schema === "boolean") return schema ? [] : [`${at} must not be there`]
    return Object.keys(schema).flatMap((word) => this.word(word, schema, v, at))
  }

  word(word, s, v, at) {
    const below = (schema, x, name) => this.wrongs(schema, x, `${at}.${name}`)
    switch (word) {
      case "$ref":
        return this.wrongs(s.$ref.split("/").slice(1).reduce((o, name) => o[name], this), v, at)
      case "properties":
        return kind(v) === "object" ? Object.keys(s.properties).filter((n) => n in v).flatMap((n) => below(s.properties[n], v[n], n)) : []
      case "additionalProperties":
        return kind(v) === "object" ? Object.keys(v).filter((n) => !(n in (s.properties ?? {}))).flatMap((n) => below(s.additionalProperties, v[n], n)) : []
      case "items":
        return Array.isArray(v) ? v.flatMap((x, i) => below(s.items, x, i)) : []
      case "not":
        return this.wrongs(s.not, v).length ? [] : [`${at} is what it must not be`]
      case "allOf":
        return s.allOf.flatMap((one) => this.wrongs(one, v, at))
      case "oneOf":
      case "anyOf": {
        const all = s[word].map((one) => this.wrongs(one, v, at))
        return all.some((w) => !w.length) ? [] : [`${at} is none of ${all.length}: ${all.map((w) => w[0]).join("; ")}`]
      }
    }
    if (silent.has(word) || word.startsWith("x-")) return []
    const said = words[word]?.(s, v) ?? `is described with the unknown word ${word}`
    return said === true ? [] : [`${at} ${said}`]
  }
}
