package codegen

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	pgv "github.com/envoyproxy/protoc-gen-validate/validate"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
)

// rules are what the fields of a valid message hold, in protoc-gen-validate's words. protovalidate
// has the same, except for required.
var rules = map[string]string{
	"Order.serial":          `uint64: {gt: 0}`,
	"Order.reference":       `string: {pattern: "^ORD-[0-9A-F]{8}$"}`,
	"Order.status":          `enum: {defined_only: true not_in: 0}`,
	"Order.created_unix_ms": `int64: {gt: 0}`,
	"Order.paid_unix_ms":    `int64: {gt: 0}`,
	"Order.customer":        required,
	"Order.ship_to":         required,
	"Order.items":           `repeated: {min_items: 1 max_items: 100}`,
	"Order.total":           required,
	"Order.coupon":          `string: {min_len: 4 max_len: 16}`,
	"Order.labels": `map: {max_pairs: 16 keys: {string: {min_len: 1 max_len: 63}}
		values: {string: {max_len: 63}}}`,
	"Order.note":                `string: {max_len: 1000}`,
	"Order.tags":                `repeated: {max_items: 10 items: {string: {min_len: 1 max_len: 32}}}`,
	"Order.signature":           `bytes: {len: 64}`,
	"Money.currency":            `string: {in: "EUR" in: "USD" in: "JPY" in: "CHF"}`,
	"Money.minor_units":         `int64: {gte: 0}`,
	"Customer.serial":           `uint64: {gt: 0}`,
	"Customer.name":             `string: {min_len: 1 max_len: 100}`,
	"Customer.email":            `string: {email: true}`,
	"Customer.phone":            `string: {prefix: "+" min_len: 8 max_len: 20}`,
	"Address.street":            `string: {min_len: 1 max_len: 100}`,
	"Address.city":              `string: {min_len: 1 max_len: 100}`,
	"Address.postal_code":       `string: {min_len: 3 max_len: 10}`,
	"Address.country":           `string: {len: 2}`,
	"LineItem.sku":              `string: {len: 10}`,
	"LineItem.title":            `string: {min_len: 1 max_len: 200}`,
	"LineItem.quantity":         `uint32: {gt: 0 lte: 1000}`,
	"LineItem.unit_price":       required,
	"LineItem.tax_rate":         `double: {gte: 0 lt: 1}`,
	"LineItem.discount_percent": `int32: {gt: 0 lte: 90}`,
	"Tiny.serial":               `uint64: {gt: 0}`,
	"Tiny.value":                `double: {gte: -1e6 lte: 1e6}`,
}

const required = `message: {required: true}`

// writeChecks writes package pbcheck, whose messages have these rules in their descriptors, for
// protovalidate, and protoc-gen-validate's methods.
func writeChecks(s *schema, internal string) error {
	dir := filepath.Join(internal, "pbcheck")
	if err := clear(dir, "*.go"); err != nil {
		return err
	}
	files := slices.DeleteFunc(protobufFiles(s, "pbcheck"), func(file *descriptorpb.FileDescriptorProto) bool {
		name := filepath.Base(file.GetName())
		return name != "order.proto" && name != "tiny.proto"
	})
	request := append(dependencies(validate.File_buf_validate_validate_proto),
		protodesc.ToFileDescriptorProto(validate.File_buf_validate_validate_proto),
		protodesc.ToFileDescriptorProto(pgv.File_validate_validate_proto))
	var names []string
	left := len(rules)
	for _, file := range files {
		file.Dependency = append(file.Dependency, "buf/validate/validate.proto", "validate/validate.proto")
		names = append(names, file.GetName())
		for _, message := range file.MessageType {
			for _, field := range message.Field {
				name := message.GetName() + "." + field.GetName()
				text, ok := rules[name]
				if !ok {
					continue
				}
				left--
				if err := ruled(field, text); err != nil {
					return fmt.Errorf("rules of %s: %w", name, err)
				}
			}
		}
	}
	if left > 0 {
		return fmt.Errorf("%d rules are of fields that do not exist", left)
	}
	files = append(request, files...)
	if err := s.runPlugin("protoc-gen-go", "", dir, files, names...); err != nil {
		return err
	}
	return s.runPlugin("protoc-gen-validate", "lang=go", dir, files, names...)
}

// ruled adds a field's rules to its descriptor, as options of both libraries.
func ruled(field *descriptorpb.FieldDescriptorProto, text string) error {
	generated, reflected := new(pgv.FieldRules), new(validate.FieldRules)
	if err := prototext.Unmarshal([]byte(text), generated); err != nil {
		return err
	}
	if err := prototext.Unmarshal([]byte(strings.Replace(text, required, "required: true", 1)), reflected); err != nil {
		return err
	}
	field.Options = new(descriptorpb.FieldOptions)
	proto.SetExtension(field.Options, pgv.E_Rules, generated)
	proto.SetExtension(field.Options, validate.E_Field, reflected)
	return nil
}
