package apply

import (
	"errors"
	"fmt"
)

// op is an operation.
type op struct {
	name string // its name in rows
	doc  string
	// do does the operation once.
	do func(l *lane) error
	// objects is how many objects the worker must have beforehand. A batch of deletes takes them
	// away.
	objects int
	// shared objects are made once on a server, by the first worker that needs them. They are not
	// removed before the server or the namespace is.
	shared bool
	// together operations can be under way several at a time.
	together bool
	// methods are the methods of its requests, in order.
	methods string
}

// crud is the page's operation: create, get and delete.
const crud = "crud"

func ops() []op {
	return []op{
		{name: crud, together: true, doc: "creating, getting and deleting it, one after the other", methods: "POST GET DELETE", do: func(l *lane) error {
			name := l.in.objects.freshName()
			if err := l.in.caller.create(l, name); err != nil {
				return fmt.Errorf("create: %w", err)
			}
			if err := l.in.caller.get(l, name); err != nil {
				return fmt.Errorf("get: %w", err)
			}
			if err := l.in.caller.delete(l, name); err != nil {
				return fmt.Errorf("delete: %w", err)
			}
			return nil
		}},
		{name: "create", together: true, doc: "creating it", methods: "POST", do: func(l *lane) error {
			return l.in.caller.create(l, l.in.objects.freshName())
		}},
		{name: "get", together: true, doc: "getting it", methods: "GET", objects: few, do: func(l *lane) error {
			return l.in.caller.get(l, l.nextName())
		}},
		{name: "update", together: true, doc: "changing it", methods: "PUT", objects: few, do: changed},
		{name: "list100", together: true, doc: "getting a list of 100", methods: "GET", objects: 100, do: func(l *lane) error {
			return l.in.caller.list(l, 100)
		}},
		{name: "list500", doc: "getting a list of 500", methods: "GET", objects: 500, shared: true, do: func(l *lane) error {
			return l.in.caller.list(l, 500)
		}},
		{name: "watch", doc: "changing it until the change has come back by a watch", methods: "PUT", objects: 1, do: func(l *lane) error {
			name, change := l.nextName(), l.nextChange()
			if err := l.in.caller.update(l, name, change); err != nil {
				return fmt.Errorf("update: %w", err)
			}
			return l.in.caller.seen(l, name, change)
		}},
		{name: "delete", doc: "deleting it", methods: "DELETE", objects: stock, do: func(l *lane) error {
			name, ok := l.in.objects.takeName()
			if !ok {
				return errors.New("no objects are left to delete: the batch is larger than the number made for it")
			}
			return l.in.caller.delete(l, name)
		}},
	}
}

func changed(l *lane) error { return l.in.caller.update(l, l.nextName(), l.nextChange()) }

// few objects are enough for operations that keep the objects: two for each lane.
const few = 16

// stock is how many objects are at least kept ready for deletes.
const stock = 64

func opByName(name string) op { return named(ops(), name, func(o op) string { return o.name }) }
