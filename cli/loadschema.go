package cli

import (
	"encoding/json"
	"io"

	"github.com/spf13/pflag"
)

// The possible values of flags that have only a few.
var (
	loadProtos   = []string{"http1", "http2", "http3", "grpc", "websocket", "connect", "grpc-web", "sse"}
	loadArrivals = []string{"constant", "poisson"}
)

// writeLoadSchema writes the JSON schema of the file that --config reads. It is made from the flags
// themselves, so that none is missing.
func writeLoadSchema(w io.Writer, flags *pflag.FlagSet) error {
	type object = map[string]any
	properties := object{"url": object{"type": "string", "description": "where to send, as the command's argument"}}
	flags.VisitAll(func(flag *pflag.Flag) {
		if notInConfig[flag.Name] {
			return
		}
		value := object{"type": "string"}
		switch flag.Value.Type() {
		case "rate":
			value = object{"oneOf": []object{{"type": "number", "exclusiveMinimum": 0}, {"const": "max"}}}
		case "duration":
			value = object{"type": "string", "pattern": `^(0|([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+)$`}
		case "int", "int64":
			value = object{"type": "integer"}
		case "float64":
			value = object{"type": "number"}
		case "bool":
			value = object{"type": "boolean"}
		case "stringArray":
			value = object{"oneOf": []object{{"type": "string"}, {"type": "array", "items": object{"type": "string"}}}}
		}
		switch flag.Name {
		case "proto":
			value["enum"] = loadProtos
		case "arrivals":
			value["enum"] = loadArrivals
		}
		value["description"] = flag.Usage
		properties[flag.Name] = value
	})
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "postage load", "type": "object",
		"properties": properties, "additionalProperties": false,
	})
}

// notInConfig are flags that the file cannot have.
var notInConfig = map[string]bool{"config": true, "config-schema": true, "help": true}
