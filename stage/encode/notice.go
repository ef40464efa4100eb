package encode

import (
	"errors"
	"math/rand/v2"

	"postage/lab"
	"postage/record"
	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/plain"
)

// versions are the messages of the old program and of the new one, each of which is the other's
// peer.
func versions() (old message[plain.Notice], grew message[plain.NoticeNew]) {
	old = message[plain.Notice]{
		name: "notice", doc: "a notice of eight parts",
		draw: drawNotice, count: 256, some: bind.Notice().Plain.Some,
		peer: peerOf(kitOfNoticeNew(), func(m *plain.Notice) (full, left plain.NoticeNew) { return renewed(m), grown(m) }),
	}
	grew = message[plain.NoticeNew]{
		name: old.name, doc: old.doc, count: old.count,
		draw: func(rnd *rand.Rand) plain.NoticeNew { m := drawNotice(rnd); return grown(&m) },
		peer: peerOf(kitOfNotice(), func(m *plain.NoticeNew) (full, left plain.Notice) { return shrunk(m), shrunk(m) }),
	}
	before, after := kitOfNotice(), kitOfNoticeNew()
	before.describe(&old)
	after.describe(&grew)
	return old, grew
}

// versionCases are the cases of an old program and a new one.
func versionCases() (all []lab.Case) {
	old, grew := versions()
	before := contenders(kitOfNotice(), &old)
	for _, o := range []op{opForward, opDecode, opNewer} {
		all = append(all, caseOf(&old, before, o))
	}
	return append(all, caseOf(&grew, contenders(kitOfNoticeNew(), &grew), opOlder))
}

// twoVersions are left out of a run that does not ask for them.
var twoVersions = extra{
	words: []string{"notice", string(opForward), string(opNewer), string(opOlder)},
	has:   func(keys record.Keys) bool { return keys.Get("msg") == "notice" },
	note:  "encode: without programs of two versions; msg=notice measures them",
}

// choose leaves out what no pattern names.
func choose(c *lab.Choice) error {
	return errors.Join(twoVersions.leave(c), packedOnes.leave(c))
}

func drawNotice(rnd *rand.Rand) plain.Notice {
	part := func() plain.NoticePart { return plain.NoticePart{Name: words(rnd, 2), Amount: 1 + rnd.Int64N(1000)} }
	m := plain.Notice{Serial: 1 + rnd.Uint64N(1<<36), Title: words(rnd, 6), Part: part()}
	for range 8 {
		m.Parts = append(m.Parts, part())
	}
	return m
}

// grown is an old program's message as the new one sees it: what was added is empty.
func grown(m *plain.Notice) plain.NoticeNew {
	n := plain.NoticeNew{Serial: m.Serial, Title: m.Title, Part: plain.NoticeNewPart{Name: m.Part.Name, Amount: m.Part.Amount}}
	for _, part := range m.Parts {
		n.Parts = append(n.Parts, plain.NoticeNewPart{Name: part.Name, Amount: part.Amount})
	}
	return n
}

// renewed is the message that the new program writes where the old one writes m.
func renewed(m *plain.Notice) plain.NoticeNew {
	n := grown(m)
	n.Note, n.Tags, n.Part.Unit = "about: "+m.Title, []string{m.Part.Name, "urgent"}, "kg"
	for i := range n.Parts {
		n.Parts[i].Unit = []string{"kg", "t", "pieces"}[i%3]
	}
	return n
}

// shrunk is a new program's message as the old one sees it.
func shrunk(n *plain.NoticeNew) plain.Notice {
	m := plain.Notice{Serial: n.Serial, Title: n.Title, Part: plain.NoticePart{Name: n.Part.Name, Amount: n.Part.Amount}}
	for _, part := range n.Parts {
		m.Parts = append(m.Parts, plain.NoticePart{Name: part.Name, Amount: part.Amount})
	}
	return m
}
