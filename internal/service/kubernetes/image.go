// Package kubernetes makes the container image of the workers on Kubernetes. Folder program has the
// programs of a cluster for tests.
package kubernetes

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// certificates is where Go programs look for root certificates.
const certificates = "/etc/ssl/certs/ca-certificates.crt"

// fullName returns the name under which a kubelet looks for an image: that of Docker Hub, if it
// names no registry, and with a tag.
func fullName(name string) string {
	first, _, deep := strings.Cut(name, "/")
	switch {
	case !deep:
		name = "docker.io/library/" + name
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		name = "docker.io/" + name
	}
	if !strings.ContainsAny(name[strings.LastIndexByte(name, '/'):], ":@") {
		name += ":latest"
	}
	return name
}

// WriteImage writes a container image as an OCI archive, which `ctr images import`, `docker load`,
// `podman load` and `skopeo copy oci-archive:` read. The image holds one statically linked program,
// which is its entry point, and this machine's root certificates. It runs as user nobody.
func WriteImage(w io.Writer, name, program string) error {
	architecture, err := staticFor(program)
	if err != nil {
		return err
	}
	entry := filepath.Base(program)
	layer, err := imageLayer(entry, program)
	if err != nil {
		return err
	}
	type object = map[string]any
	out := tar.NewWriter(w)
	add := func(path string, text []byte) error {
		err := out.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(text))})
		if err == nil {
			_, err = out.Write(text)
		}
		return err
	}
	blob := func(mediaType string, text []byte) (object, error) {
		sum := fmt.Sprintf("%x", sha256.Sum256(text))
		descriptor := object{"mediaType": "application/vnd.oci.image." + mediaType, "digest": "sha256:" + sum, "size": len(text)}
		return descriptor, add("blobs/sha256/"+sum, text)
	}
	blobOf := func(mediaType string, value object) (object, error) {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		return blob(mediaType, text)
	}
	if err := add("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)); err != nil {
		return err
	}
	content, err := blob("layer.v1.tar", layer)
	if err != nil {
		return err
	}
	config, err := blobOf("config.v1+json", object{
		"architecture": architecture, "os": "linux",
		"config": object{"Entrypoint": []string{"/" + entry}, "User": "65532:65532"},
		"rootfs": object{"type": "layers", "diff_ids": []any{content["digest"]}},
	})
	if err != nil {
		return err
	}
	manifest, err := blobOf("manifest.v1+json", object{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": []object{content},
	})
	if err != nil {
		return err
	}
	// containerd takes the whole name from its own annotation, other tools from the standard one.
	manifest["annotations"] = object{"io.containerd.image.name": fullName(name), "org.opencontainers.image.ref.name": fullName(name)}
	index, err := json.Marshal(object{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []object{manifest}})
	if err != nil {
		return err
	}
	return errors.Join(add("index.json", index), out.Close())
}

// imageLayer is an archive of the program, by a name, and of this machine's certificate
// authorities.
func imageLayer(name, program string) ([]byte, error) {
	var layer bytes.Buffer
	files := tar.NewWriter(&layer)
	if err := addFile(files, name, program, 0o755); err != nil {
		return nil, err
	}
	if err := addFile(files, certificates[1:], certificates, 0o644); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	err := files.Close()
	return layer.Bytes(), err
}

func addFile(w *tar.Writer, name, path string, mode int64) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(text))}); err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// staticFor returns the architecture of a program that needs only the Linux kernel.
func staticFor(program string) (architecture string, err error) {
	file, err := elf.Open(program)
	if err != nil {
		return "", fmt.Errorf("%s is not a Linux program (%w): build one with CGO_ENABLED=0 GOOS=linux go build", program, err)
	}
	defer file.Close()
	if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return "", fmt.Errorf("%s needs the C library, which the image does not have: build it with CGO_ENABLED=0 go build", program)
	}
	switch file.Machine {
	case elf.EM_X86_64:
		return "amd64", nil
	case elf.EM_AARCH64:
		return "arm64", nil
	}
	return "", fmt.Errorf("%s is for %v: want a program for amd64 or arm64", program, file.Machine)
}
