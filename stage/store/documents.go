package store

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// vocabulary are the words for documents, common ones first.
var vocabulary = strings.Fields(`the of and to a in is for that with on as be by this from are at it not or was an which have
	order you new can all will has more one their other been they when time who we may any only product customer service use
	data work first system into some than these made over two way through people between after also about delivery address under
	where quantity most state used price many number such part each company being well information while year group because must
	public during high same general business report within against water possible payment country set area process every small
	development result local term school week place form available found given material currency market further account another
	power interest position support public light control management level type office example often body question program large
	history production member change city experience study house value kind activity research important policy method usually
	discount early different special common shipment standard paper road surface quality property weight simple section machine
	foundation warehouse condition measure leather design condition cotton durable package recommended adjustable waterproof
	compatible stainless rechargeable warranty accessories lightweight ergonomic portable ceramic bamboo upholstery aluminium
	refurbished dimmable hypoallergenic biodegradable interchangeable`)

// writing writes text like a service's: words by Zipf's law, numbers, nested objects.
type writing struct {
	*rand.Rand
	words *rand.Zipf
	out   strings.Builder
}

func newWriting(r *rand.Rand) *writing {
	return &writing{Rand: r, words: rand.NewZipf(r, 1.1, 3, uint64(len(vocabulary)-1))}
}

func (w *writing) word() string { return vocabulary[w.words.Uint64()] }

// text writes a number of words.
func (w *writing) text(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = w.word()
	}
	return strings.Join(words, " ")
}

func (w *writing) add(parts ...any) {
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			w.out.WriteString(p)
		case int:
			w.out.WriteString(strconv.Itoa(p))
		}
	}
}

// document writes an order of about size bytes, in the form in which jsonb returns it: shorter keys
// before longer ones, and a space after each colon and comma.
func (w *writing) document(size int) string {
	w.out.Reset()
	w.add(`{"id": `, w.IntN(1e9), `, "lines": [`)
	for n := 0; n == 0 || w.out.Len() < size-600; n++ {
		if n > 0 {
			w.add(", ")
		}
		w.add(`{"qty": `, 1+w.IntN(20), `, "sku": "`, strconv.FormatUint(w.Uint64N(1<<40), 36), `", "gift": `, strconv.FormatBool(w.IntN(10) == 0), `, "size": {"depth": `, 1+w.IntN(900), `, "width": `, 1+w.IntN(900),
			`}, "tags": ["`, w.word(), `", "`, w.word(), `"], "price": `, 1+w.IntN(900), ".", 10+w.IntN(90),
			`, "title": "`, w.text(3+w.IntN(5)), `", "description": "`, w.text(20+w.IntN(40)), `"}`)
	}
	w.add(`], "placed": "2026-0`, 1+w.IntN(9), "-", 10+w.IntN(19), "T", 10+w.IntN(14), ":", 10+w.IntN(50), `:00Z", "status": "`, w.word(),
		`", "customer": {"name": "`, w.text(2), `", "phone": null, "address": {"city": "`, w.word(), `", "street": "`, w.text(2), " ", 1+w.IntN(200), `"}}}`)
	return w.out.String()
}
