// Package runtime is the run time of the code that protoc-gen-pbfast generates. All of it is for
// generated code, and changes with the generator.
package runtime
