package apply

import "fmt"

// op is an operation.
type op struct {
	name string // its name in rows
	doc  string
	// do does the operation once.
	do func(l *lane) error
	// objects is how many objects the worker must have beforehand.
	objects int
	// methods are the methods of its requests, in order.
	methods string
}

// crud is the page's operation: create, get and delete.
const crud = "crud"

func ops() []op {
	return []op{
		{name: crud, doc: "creating, getting and deleting it, one after the other", methods: "POST GET DELETE", do: func(l *lane) error {
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
		{name: "create", doc: "creating it", methods: "POST", do: func(l *lane) error {
			return l.in.caller.create(l, l.in.objects.freshName())
		}},
		{name: "get", doc: "getting it", methods: "GET", objects: few, do: func(l *lane) error {
			return l.in.caller.get(l, l.nextName())
		}},
		{name: "update", doc: "changing it", methods: "PUT", objects: few, do: func(l *lane) error {
			return l.in.caller.update(l, l.nextName(), l.nextChange())
		}},
		{name: "list100", doc: "getting a list of 100", methods: "GET", objects: 100, do: func(l *lane) error {
			return l.in.caller.list(l, 100)
		}},
	}
}

// few objects are enough for operations that keep the objects: two for each lane.
const few = 16

func opByName(name string) op { return named(ops(), name, func(o op) string { return o.name }) }
