package apply

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// untyped is the object as client-go's dynamic client sends it: maps. What the maps of all objects
// have in common is made once.
func untyped(k *kind) func(metav1.ObjectMeta) object {
	common, err := runtime.DefaultUnstructuredConverter.ToUnstructured(k.make(metav1.ObjectMeta{}))
	if err != nil {
		panic(err) // a struct of strings and numbers
	}
	return func(meta metav1.ObjectMeta) object {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": common["spec"], "status": common["status"]}}
		u.SetGroupVersionKind(k.groupVersion().WithKind("Release"))
		u.SetName(meta.Name)
		u.SetLabels(meta.Labels)
		u.SetAnnotations(meta.Annotations)
		return u
	}
}

// openDynamic returns client-go's dynamic client for a kind. The client sets content types itself,
// by a feature gate of the whole process; they are set back to the row's.
func openDynamic(config *rest.Config, client *http.Client, k *kind, namespace string) (resource, error) {
	settings := dynamic.ConfigFor(config)
	settings.ContentConfig.ContentType, settings.AcceptContentTypes = config.ContentType, config.AcceptContentTypes
	settings.APIPath = "/not-used" // the dynamic client's paths are absolute
	c, err := rest.UnversionedRESTClientForConfigAndClient(settings, client)
	if err != nil {
		return nil, fmt.Errorf("client-go: %w", err)
	}
	return untypedResource{dynamic.New(c).Resource(k.groupVersion().WithResource(k.resource)).Namespace(namespace)}, nil
}

// untypedResource is client-go's dynamic client for one kind.
type untypedResource struct{ api dynamic.ResourceInterface }

func (u untypedResource) create(ctx context.Context, o object, options metav1.CreateOptions) (object, error) {
	return u.api.Create(ctx, o.(*unstructured.Unstructured), options)
}

func (u untypedResource) get(ctx context.Context, name string) (object, error) {
	return u.api.Get(ctx, name, metav1.GetOptions{})
}

func (u untypedResource) update(ctx context.Context, o object) (object, error) {
	return u.api.Update(ctx, o.(*unstructured.Unstructured), metav1.UpdateOptions{})
}

func (u untypedResource) list(ctx context.Context, selector string) ([]object, error) {
	l, err := u.api.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	return pointers(l.Items), nil
}

func (u untypedResource) watch(ctx context.Context, selector string) (watch.Interface, error) {
	return u.api.Watch(ctx, metav1.ListOptions{LabelSelector: selector})
}

func (u untypedResource) delete(ctx context.Context, name string) error {
	return u.api.Delete(ctx, name, metav1.DeleteOptions{})
}

// typedOf returns what a dynamic client got as the kind's own type.
func (k *kind) typedOf(o object) (object, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	typed, err := typedLike(k.make(metav1.ObjectMeta{}), u)
	if err != nil {
		return nil, err
	}
	return typed.(object), nil
}

// typedLike returns maps as an object, or a list of objects, of a type. Fields that the type does
// not have are an error.
func typedLike(like, o runtime.Object) (runtime.Object, error) {
	u, ok := o.(runtime.Unstructured)
	if !ok {
		return o, nil
	}
	typed := reflect.New(reflect.TypeOf(like).Elem()).Interface()
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.UnstructuredContent(), typed, true)
	return typed.(runtime.Object), err
}

// useMaps has the serializer of the dynamic client, and of the server, which differ from others in
// what they make for a kind.
func (in *serializing) useMaps() error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(in.object)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: content}
	in.object, in.into = u, func() runtime.Object { return new(unstructured.Unstructured) }
	if u.IsList() {
		if in.object, err = u.ToList(); err != nil {
			return err
		}
		in.into = func() runtime.Object { return new(unstructured.UnstructuredList) }
	}
	creater, typer := unstructuredscheme.NewUnstructuredCreator(), unstructuredscheme.NewUnstructuredObjectTyper()
	in.codec = json.NewSerializerWithOptions(json.DefaultMetaFactory, creater, typer, json.SerializerOptions{})
	if in.media.name == "cbor" {
		in.codec = cbor.NewSerializer(creater, typer)
	}
	return nil
}
