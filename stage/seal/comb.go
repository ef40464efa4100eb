package seal

import (
	"bytes"
	"crypto/ecdh"
	"crypto/rand"
	"errors"

	"filippo.io/nistec"
)

// When a sender sends to a browser again, it knows the browser's point. With multiples of it kept,
// the multiplication takes 31 doublings and 32 additions instead of about 256 (Lim and Lee, "More
// Flexible Exponentiation with Precomputation", CRYPTO '94). The table has 255 points of 96 bytes
// for each subscription. Time and memory accesses of this code depend on secret bits: it is a
// floor, not a recommendation.

const (
	combTeeth   = 8
	combColumns = 256 / combTeeth
)

// A combTable has the sum of 2^(32 t) P over the teeth t that are bits of the index.
type combTable [1 << combTeeth]*nistec.P256Point

func newComb(point []byte) (*combTable, error) {
	p, err := nistec.NewP256Point().SetBytes(point)
	if err != nil {
		return nil, err
	}
	table := &combTable{nistec.NewP256Point()}
	for t := range combTeeth {
		for u := range 1 << t {
			table[1<<t|u] = nistec.NewP256Point().Add(table[u], p)
		}
		for range combColumns {
			p.Double(p)
		}
	}
	return table, nil
}

// multiply returns the affine x of the point times a scalar, big endian.
func (t *combTable) multiply(scalar []byte) ([]byte, error) {
	q := nistec.NewP256Point()
	for column := combColumns - 1; column >= 0; column-- {
		q.Double(q)
		u := 0
		for tooth := range combTeeth {
			bit := tooth*combColumns + column
			u |= int(scalar[31-bit/8]>>(bit%8)&1) << tooth
		}
		q.Add(q, t[u])
	}
	return q.BytesX()
}

// combAgreement is an ECDH with a browser whose table is kept. Opening it checks that it agrees
// with crypto/ecdh.
var combAgreement = primitive{"ecdh-comb", "a P-256 ECDH with a table of 255 multiples of the browser's point kept (24 KB a subscription, not in constant time)", func(w *workload, _ padding) (step, error) {
	k, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	var tables []*combTable
	for i := range w.recipients {
		point := w.recipients[i].browser.PublicKey()
		table, err := newComb(point)
		if err != nil {
			return nil, err
		}
		other, err := ecdh.P256().NewPublicKey(point)
		if err != nil {
			return nil, err
		}
		want, err := k.ECDH(other)
		if err != nil {
			return nil, err
		}
		if got, err := table.multiply(k.Bytes()); err != nil || !bytes.Equal(got, want) {
			return nil, errors.Join(errors.New("seal: the comb gives another secret than crypto/ecdh"), err)
		}
		tables = append(tables, table)
	}
	scalar := k.Bytes()
	return func(i int) (err error) {
		kept.bytes, err = tables[i].multiply(scalar)
		return err
	}, nil
}}
