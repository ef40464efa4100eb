package kubernetes

import "testing"

// An image gets the name under which a kubelet looks for it.
func TestFullName(t *testing.T) {
	for name, want := range map[string]string{
		"postage": "docker.io/library/postage:latest", "postage:1": "docker.io/library/postage:1", "me/postage:1": "docker.io/me/postage:1",
		"localhost/postage": "localhost/postage:latest", "localhost:5000/p:1": "localhost:5000/p:1", "registry.example/a/b": "registry.example/a/b:latest",
	} {
		if got := fullName(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
