// Package check measures what it costs to hold a decoded message to the rules of its fields, such
// as lengths, ranges and an e-mail address, library against library.
//
// The rules are written once, in package codegen: protovalidate reads them in the descriptors at
// run time, protoc-gen-validate has made methods of them, and go-playground/validator gets them as
// the tags that say the same. Only the contender written by hand repeats them. All check the very
// same values, protobuf-go's structs.
//
// A proof holds each contender to a list of messages with one wrong field each. It must refuse all,
// for that field, and accept the whole corpus and the values just inside the bounds. On some values
// the libraries disagree by design; a contender declares those that it accepts.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"postage/lab"
	"postage/record"
	"postage/stage/encode/internal/pbcheck"
)

// A library is one way to check messages of type V.
type library[V any] struct {
	name     string // "lib=protovalidate", with the settings that a reader must know
	module   string // path of the Go module that does the work
	settings map[string]string
	accepts  []string // the disputed values that it accepts, by their names in the trials
	open     func() (checker[V], error)
}

// A checker is an open library.
type checker[V any] struct {
	check func(*V) error
	// field returns the path of the field that an error of check is about. Names are protobuf's or
	// Go's; what stands in brackets is not looked at.
	field func(error) string
}

// acceptsOf returns those of the trials' disputed values that are declared as accepted.
func (l *library[V]) acceptsOf(trials []trial[V]) (names []string) {
	for _, t := range trials {
		if t.disputed != "" && slices.Contains(l.accepts, t.disputed) {
			names = append(names, t.disputed)
		}
	}
	return names
}

// A subject is a message that is checked.
type subject[V any] struct {
	name, doc string
	// corpus returns the messages that a seed stands for, in protobuf's format, which all are
	// valid. Their number is a power of two.
	corpus func(seed uint64) ([][]byte, error)
	trials []trial[V]
}

// A trial is a change of a valid message.
type trial[V any] struct {
	field    string // that the change makes wrong, "" for none
	disputed string // a name, if libraries disagree on the value
	change   func(*V)
}

// Cases returns the cases for orders and tiny messages, whose corpora are in protobuf's format.
func Cases(orders, tinies func(seed uint64) ([][]byte, error)) []lab.Case {
	return []lab.Case{
		caseOf(subject[pbcheck.Order]{"order", "a decoded order", orders, orderTrials}, []library[pbcheck.Order]{
			generated[pbcheck.Order](),
			byHand(checkOrder),
			reflected[pbcheck.Order](true),
			reflected[pbcheck.Order](false),
			tagged[pbcheck.Order](),
		}),
		caseOf(subject[pbcheck.Tiny]{"tiny", "a decoded message of two numbers", tinies, tinyTrials}, []library[pbcheck.Tiny]{
			generated[pbcheck.Tiny](),
			byHand(checkTiny),
			reflected[pbcheck.Tiny](true),
			reflected[pbcheck.Tiny](false),
			tagged[pbcheck.Tiny](),
		}),
	}
}

func caseOf[V any, P message[V]](s subject[V], libraries []library[V]) lab.Case {
	c := lab.Case{
		Name:     "Encode/msg=" + s.name + "/op=check",
		Doc:      "What does it cost to check " + s.doc + " against the rules of its fields?",
		Baseline: "lib=pgv",
	}
	for _, l := range libraries {
		c.Contenders = append(c.Contenders, lab.Contender{
			Name: l.name, Module: l.module, Settings: record.KeysOf(l.name).Settings(l.settings),
			Checks:     "every message of the corpus is accepted, and each of a list of messages with one wrong field is refused for that field",
			Properties: map[string]string{"accepts": cmp.Or(strings.Join(l.acceptsOf(s.trials), ", "), "nothing disputed")},
			Open: func(_ context.Context, env lab.Env) (lab.Instance, error) {
				in, err := newInstance[V, P](l, s, env.Seed)
				if err != nil {
					return nil, fmt.Errorf("encode: %s: %w", s.name, err)
				}
				return in, nil
			},
		})
	}
	return c
}

// message is protobuf-go's pointer to a message.
type message[V any] interface {
	*V
	proto.Message
}

type instance[V any, P message[V]] struct {
	library library[V]
	trials  []trial[V]
	checker checker[V]
	inputs  [][]byte
	values  []*V
	next    int
}

func newInstance[V any, P message[V]](l library[V], s subject[V], seed uint64) (*instance[V, P], error) {
	in := &instance[V, P]{library: l, trials: s.trials}
	var err error
	if in.inputs, err = s.corpus(seed); err != nil {
		return nil, err
	}
	for _, data := range in.inputs {
		v := new(V)
		if err := proto.Unmarshal(data, P(v)); err != nil {
			return nil, err
		}
		in.values = append(in.values, v)
	}
	if in.checker, err = l.open(); err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	return in, nil
}

// Run checks the next n messages. The call through a pointer, some 2 ns, is in every row.
func (in *instance[V, P]) Run(n int) error {
	for range n {
		v := in.values[in.next&(len(in.values)-1)]
		in.next++
		if err := in.checker.check(v); err != nil {
			return err
		}
	}
	return nil
}

// Prove implements [postage/lab.Instance].
func (in *instance[V, P]) Prove(context.Context) error {
	in.next = 0
	if err := in.Run(len(in.values)); err != nil {
		return fmt.Errorf("check: a valid message is refused: %w", err)
	}
	in.next = 0
	var accepted []string
	for i, t := range in.trials {
		v := new(V)
		if err := proto.Unmarshal(in.inputs[i%len(in.inputs)], P(v)); err != nil {
			return err
		}
		t.change(v)
		err := in.checker.check(v)
		switch {
		case err == nil && t.disputed != "":
			accepted = append(accepted, t.disputed)
		case err == nil && t.field != "":
			return fmt.Errorf("check: trial %d: a message with a wrong %s is accepted", i, t.field)
		case err != nil && t.field == "":
			return fmt.Errorf("check: trial %d: a message at the bounds is refused: %w", i, err)
		case err != nil:
			if got := plainPath(in.checker.field(err)); got != t.field {
				return fmt.Errorf("check: trial %d: a message with a wrong %s is refused for %q: %w", i, t.field, got, err)
			}
		}
	}
	if declared := in.library.acceptsOf(in.trials); !slices.Equal(accepted, declared) {
		return fmt.Errorf("check: of disputed values it accepts %q, but declares %q", accepted, declared)
	}
	return nil
}

func (in *instance[V, P]) Close() error { return nil }

var (
	inBrackets = regexp.MustCompile(`\[[^\]]*\]`)
	inCapitals = regexp.MustCompile(`([a-z])([A-Z])`)
)

// plainPath turns a library's path to a field into words joined by dots: UnitPrice.Currency and
// unit_price.currency are one field, and so are all items of a list.
func plainPath(path string) string {
	path = inBrackets.ReplaceAllString(path, "")
	return strings.ToLower(inCapitals.ReplaceAllString(path, "${1}_${2}"))
}

// errorAs is errors.As for libraries whose errors are all of one type.
func errorAs[E error](err error) (e E) {
	errors.As(err, &e)
	return e
}
