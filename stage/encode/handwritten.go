package encode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"postage/pbfast/validutf8"
	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/pb"
	"postage/stage/encode/internal/plain"
)

// handwritten decodes orders by hand into fresh structs of protoc-gen-go's, with every check that
// protobuf makes. Their texts share one copy of the input. A decoder that takes longer spends the
// difference on itself.
func handwritten(form bind.Form[plain.Order, pb.Order]) contender[plain.Order] {
	return &codec[plain.Order, pb.Order]{
		name:     "floor=handwritten/owned=yes/structs=protobuf",
		can:      []op{opDecode},
		protobuf: true,
		floor:    true,
		damage:   damagePartly,
		utf8:     "error",
		form:     form,
		loops: loops[plain.Order, pb.Order]{
			decode: decodeBy[plain.Order, pb.Order](func(m *pb.Order, data []byte) error { return orderDecode(m, bytes.Clone(data)) }),
		},
	}
}

var (
	errHandUTF8   = errors.New("handwritten: text is not UTF-8")
	errHandNumber = errors.New("handwritten: field number is out of range")
)

// An orderRoom is what an order's pointers point to, allocated at once.
type orderRoom struct {
	customer       pb.Customer
	shipTo, billTo pb.Address
	total          pb.Money
	paid           int64
	coupon, phone  string
}

// An itemRoom is the same for a line item.
type itemRoom struct {
	item     pb.LineItem
	price    pb.Money
	discount int32
}

// orderDecode decodes the order in b into m, which must be fresh. m keeps parts of b.
func orderDecode(m *pb.Order, b []byte) error {
	room, items := new(orderRoom), []itemRoom(nil)
	for len(b) > 0 {
		tag, n, data, rest, err := fieldOf(b)
		switch tag {
		case 1 << 3:
			m.Serial = n
		case 2<<3 | 2:
			m.Reference, err = text(data)
		case 3 << 3:
			m.Status = pb.OrderStatus(n)
		case 4 << 3:
			m.CreatedUnixMs = int64(n)
		case 5 << 3:
			m.PaidUnixMs, room.paid = &room.paid, int64(n)
		case 6<<3 | 2:
			m.Customer, err = &room.customer, customerDecode(room, data)
		case 7<<3 | 2:
			m.ShipTo, err = &room.shipTo, addressDecode(&room.shipTo, data)
		case 8<<3 | 2:
			m.BillTo, err = &room.billTo, addressDecode(&room.billTo, data)
		case 9<<3 | 2:
			if len(items) == 0 {
				items = make([]itemRoom, runLength(b))
				m.Items = append(make([]*pb.LineItem, 0, len(m.Items)+len(items)), m.Items...)
			}
			err = itemDecode(&items[0], data)
			m.Items, items = append(m.Items, &items[0].item), items[1:]
		case 10<<3 | 2:
			m.Total, err = &room.total, moneyDecode(&room.total, data)
		case 11<<3 | 2:
			room.coupon, err = text(data)
			m.Coupon = &room.coupon
		case 12<<3 | 2:
			if m.Labels == nil {
				m.Labels = make(map[string]string, runLength(b))
			}
			err = labelDecode(m.Labels, data)
		case 13<<3 | 2:
			m.Note, err = text(data)
		case 14<<3 | 2:
			if m.Tags == nil {
				m.Tags = make([]string, 0, runLength(b))
			}
			var tag string
			tag, err = text(data)
			m.Tags = append(m.Tags, tag)
		case 15<<3 | 2:
			m.Signature = data
		case 16 << 3:
			m.Gift = n != 0
		}
		if err != nil {
			return err
		}
		b = rest
	}
	return nil
}

// fieldOf splits off a field: a number n, or the data of a text, bytes or message. A malformed field
// has tag 0.
func fieldOf(b []byte) (tag, n uint64, data, rest []byte, err error) {
	if len(b) >= 2 && b[0] >= 1<<3 && b[0] < 0x80 {
		switch tag = uint64(b[0]); {
		case tag&7 == 2 && b[1] < 0x80 && 2+int(b[1]) <= len(b):
			end := 2 + int(b[1])
			return tag, 0, b[2:end:end], b[end:], nil
		case tag&7 == 0 && b[1] < 0x80:
			return tag, uint64(b[1]), nil, b[2:], nil
		case tag&7 == 1 && len(b) >= 9:
			return tag, binary.LittleEndian.Uint64(b[1:]), nil, b[9:], nil
		}
	}
	if tag, data, rest, err = anyField(b); err == nil && tag&7 == 0 {
		n, _ = protowire.ConsumeVarint(data)
	}
	return tag, n, data, rest, err
}

func anyField(b []byte) (tag uint64, data, rest []byte, err error) {
	number, kind, n := protowire.ConsumeTag(b)
	if n < 0 {
		return 0, nil, nil, malformed(n)
	}
	if number > protowire.MaxValidNumber {
		return 0, nil, nil, errHandNumber
	}
	b = b[n:]
	if kind == protowire.BytesType {
		data, n = protowire.ConsumeBytes(b)
	} else if n = protowire.ConsumeFieldValue(number, kind, b); n >= 0 {
		data = b[:n]
	}
	if n < 0 {
		return 0, nil, nil, malformed(n)
	}
	return protowire.EncodeTag(number, kind), data[:len(data):len(data)], b[n:], nil
}

func malformed(code int) error {
	return fmt.Errorf("handwritten: malformed message: %w", protowire.ParseError(code))
}

// text returns bytes as a string without copying them.
func text(data []byte) (string, error) {
	if !validutf8.Valid(data) {
		return "", errHandUTF8
	}
	return unsafe.String(unsafe.SliceData(data), len(data)), nil
}

// runLength counts how many consecutive fields at the beginning of b have the same tag.
func runLength(b []byte) (n int) {
	first := b[0]
	for len(b) > 0 && b[0] == first {
		_, _, _, rest, err := fieldOf(b)
		if err != nil {
			break
		}
		n++
		b = rest
	}
	return n
}

func customerDecode(room *orderRoom, b []byte) (err error) {
	for m := &room.customer; len(b) > 0 && err == nil; {
		var tag, n uint64
		var data []byte
		switch tag, n, data, b, err = fieldOf(b); tag {
		case 1 << 3:
			m.Serial = n
		case 2<<3 | 2:
			m.Name, err = text(data)
		case 3<<3 | 2:
			m.Email, err = text(data)
		case 4<<3 | 2:
			room.phone, err = text(data)
			m.Phone = &room.phone
		case 5 << 3:
			m.Verified = n != 0
		}
	}
	return err
}

func addressDecode(m *pb.Address, b []byte) (err error) {
	for len(b) > 0 && err == nil {
		var tag uint64
		var data []byte
		switch tag, _, data, b, err = fieldOf(b); tag {
		case 1<<3 | 2:
			m.Street, err = text(data)
		case 2<<3 | 2:
			m.City, err = text(data)
		case 3<<3 | 2:
			m.PostalCode, err = text(data)
		case 4<<3 | 2:
			m.Country, err = text(data)
		}
	}
	return err
}

func itemDecode(room *itemRoom, b []byte) (err error) {
	for m := &room.item; len(b) > 0 && err == nil; {
		var tag, n uint64
		var data []byte
		switch tag, n, data, b, err = fieldOf(b); tag {
		case 1<<3 | 2:
			m.Sku, err = text(data)
		case 2<<3 | 2:
			m.Title, err = text(data)
		case 3 << 3:
			m.Quantity = uint32(n)
		case 4<<3 | 2:
			m.UnitPrice, err = &room.price, moneyDecode(&room.price, data)
		case 5<<3 | 1:
			m.TaxRate = math.Float64frombits(n)
		case 6 << 3:
			m.DiscountPercent, room.discount = &room.discount, int32(n)
		}
	}
	return err
}

func moneyDecode(m *pb.Money, b []byte) (err error) {
	for len(b) > 0 && err == nil {
		var tag, n uint64
		var data []byte
		switch tag, n, data, b, err = fieldOf(b); tag {
		case 1<<3 | 2:
			m.Currency, err = text(data)
		case 2 << 3:
			m.MinorUnits = int64(n)
		}
	}
	return err
}

func labelDecode(to map[string]string, b []byte) (err error) {
	var key, value string
	for len(b) > 0 && err == nil {
		var tag uint64
		var data []byte
		switch tag, _, data, b, err = fieldOf(b); tag {
		case 1<<3 | 2:
			key, err = text(data)
		case 2<<3 | 2:
			value, err = text(data)
		}
	}
	if err == nil {
		to[key] = value
	}
	return err
}
