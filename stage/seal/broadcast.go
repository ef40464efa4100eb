package seal

import (
	"time"

	"postage/webpush"
)

// broadcastSize is how many messages a broadcast's key serves.
const broadcastSize = 1000

// keyPerBroadcast is package webpush with one ECDH key for a broadcast to 1000
// subscriptions. A Client does that in Broadcast; what it does there for a message is
// done here by its sealer and its signer.
func keyPerBroadcast() *contender {
	return &contender{
		name: "lib=webpush/mode=broadcast/as=parts", ownFloor: "floor=composed/mode=shared",
		settings: map[string]string{"reuse": webpush.KeyPerBroadcast().String(), "subscriptions": "1000"},
		key:      perBroadcast, token: perOrigin,
		open: func(w *workload, pad padding) (maker, error) {
			c, err := newClient(w, pad, webpush.Config{Reuse: webpush.KeyPerBroadcast()}, false)
			return &broadcaster{client: c}, err
		},
	}
}

type broadcaster struct {
	*client
	sealer *webpush.Sealer
	sent   int
}

func (b *broadcaster) make(i int) (err error) {
	if b.sent%broadcastSize == 0 {
		if b.sealer, err = b.Sealer().ForBroadcast(); err != nil {
			return err
		}
	}
	b.sent++
	sub := b.workload.recipients[i].sub
	if b.body, err = b.sealer.AppendEncrypt(b.buffer[:0], b.workload.message, sub, b.options.Padding); err != nil {
		return err
	}
	b.header.TTL = "60"
	b.header.Authorization, err = b.Signer().Authorization(sub)
	return err
}

// noBroadcastRequest is the row that a reader would look for.
func noBroadcastRequest() *contender {
	return &contender{
		name:       "lib=webpush/mode=broadcast/as=request",
		impossible: "a broadcast's requests are made and sent in one: see Seal/send=loopback",
	}
}

// clock is one that a maker is told to move.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }
