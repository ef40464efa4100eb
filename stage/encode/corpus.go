package encode

import "math/rand/v2"

// corpus draws the message's corpus from a seed. Samples, if there are any, come in a drawn order.
func (msg *message[M]) corpus(seed uint64) []M {
	rnd := rand.New(rand.NewPCG(seed, 0))
	corpus := make([]M, msg.count)
	order := rnd.Perm(len(msg.samples))
	for i := range corpus {
		if msg.samples != nil {
			corpus[i] = msg.samples[order[i%len(order)]]
			continue
		}
		corpus[i] = msg.draw(rnd)
	}
	return corpus
}
