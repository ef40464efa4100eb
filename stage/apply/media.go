package apply

import (
	"bytes"
	"regexp"

	"k8s.io/apimachinery/pkg/runtime"
)

// media is a content type in which Kubernetes objects are sent.
type media struct {
	name        string // its name in rows
	contentType string
	module      string // that does the encoding
	begins      func(text []byte) bool
}

// The bytes with which objects begin. CBOR's are the tag for self-described data (RFC 8949, section
// 3.4.6), which the API server requires; protobuf's are Kubernetes' own.
var (
	cborMagic     = []byte{0xd9, 0xd9, 0xf7}
	protobufMagic = []byte("k8s\x00")
)

// yamlKey matches a mapping in YAML's block style. JSON, which is YAML too, does not match.
var yamlKey = regexp.MustCompile(`^[A-Za-z]+:[ \n]`)

func medias() []media {
	return []media{
		{"json", runtime.ContentTypeJSON, "k8s.io/apimachinery",
			func(text []byte) bool { return bytes.HasPrefix(text, []byte("{")) }},
		{"yaml", runtime.ContentTypeYAML, "k8s.io/apimachinery", yamlKey.Match},
		{"protobuf", runtime.ContentTypeProtobuf, "k8s.io/apimachinery",
			func(text []byte) bool { return bytes.HasPrefix(text, protobufMagic) }},
		{"cbor", runtime.ContentTypeCBOR, "github.com/fxamacker/cbor/v2",
			func(text []byte) bool { return bytes.HasPrefix(text, cborMagic) }},
	}
}

func byName(name string) media { return named(medias(), name, func(m media) string { return m.name }) }

// other returns the content type in which a second client reads a row's objects back.
func (m *media) other() media {
	if m.name == "protobuf" {
		return byName("json")
	}
	return byName("protobuf")
}
