package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// columns is the header that the file must have.
var columns = []string{"order", "date", "customer", "product", "quantity", "unit_price", "currency"}

// maxListed is how many bad rows are listed; all are counted.
const maxListed = 100

// Report is what came of a file.
type Report struct {
	Currency      string  `json:"currency"`
	Rows          int     `json:"rows"`   // all but the header
	Orders        int     `json:"orders"` // rows that are in the sums
	Total         Amount  `json:"total"`
	OtherCurrency int     `json:"other_currency"`
	BadRows       int     `json:"bad_rows"`
	CustomerCount int     `json:"customer_count"`
	Customers     []Group `json:"customers"` // the top ones, by amount
	Months        []Group `json:"months"`    // all of them, in order
	Products      []Group `json:"products"`  // the top ones, by amount
	Bad           []Bad   `json:"bad,omitempty"`
}

// Group is a sum over the orders that have something in common.
type Group struct {
	Name     string `json:"name"`
	Orders   int    `json:"orders"`
	Quantity int64  `json:"quantity"`
	Amount   Amount `json:"amount"`
}

// Bad is a row that could not be used.
type Bad struct {
	Line int    `json:"line"`
	Why  string `json:"why"`
}

// order is one good row.
type order struct {
	id, customer, product, currency string
	date                            time.Time
	quantity                        int64
	amount                          Amount
}

// Read adds up the orders of a CSV file. A bad row is left out and reported; only a file without the right header, or one
// that cannot be read, is an error. A negative quantity is a return. Memory grows with the number of orders, because
// each may stand in the file once.
func Read(r io.Reader, o Options) (Report, error) {
	c := csv.NewReader(r)
	c.FieldsPerRecord = -1 // a row of the wrong length is a bad row, not the end
	c.ReuseRecord = true
	header, err := c.Read()
	if err != nil {
		return Report{}, fmt.Errorf("%s: no header: %w", o.Input, err)
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff") // spreadsheets write a byte order mark
	if !slices.Equal(header, columns) {
		return Report{}, fmt.Errorf("%s: the header is %q; want %q", o.Input, header, columns)
	}
	t := totals{customers: map[string]Group{}, months: map[string]Group{}, products: map[string]Group{}, lines: map[string]int{}}
	t.Currency = o.Currency
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			return t.finish(o.Top), nil
		}
		t.Rows++
		if pe, ok := errors.AsType[*csv.ParseError](err); ok {
			t.bad(pe.StartLine, pe.Err)
			continue
		}
		if err != nil {
			return Report{}, err
		}
		line, _ := c.FieldPos(0)
		if err := t.add(line, row); err != nil {
			t.bad(line, err)
		}
	}
}

// totals is a report while it grows.
type totals struct {
	Report

	customers, months, products map[string]Group
	lines                       map[string]int // of each order
}

func (t *totals) bad(line int, why error) {
	t.BadRows++
	if len(t.Bad) < maxListed {
		t.Bad = append(t.Bad, Bad{line, why.Error()})
	}
}

func (t *totals) add(line int, row []string) error {
	o, err := parse(row)
	if err != nil {
		return err
	}
	if first, twice := t.lines[o.id]; twice {
		return fmt.Errorf("order %s is in line %d already", o.id, first)
	}
	t.lines[o.id] = line
	if o.currency != t.Currency {
		t.OtherCurrency++
		return nil
	}
	month := o.date.Format("2006-01")
	for _, sum := range []Amount{t.Total, t.customers[o.customer].Amount, t.months[month].Amount, t.products[o.product].Amount} {
		if _, ok := sum.Plus(o.amount); !ok {
			return errors.New("with this order a sum is too large")
		}
	}
	t.Orders++
	t.Total += o.amount
	count(t.customers, o.customer, o)
	count(t.months, month, o)
	count(t.products, o.product, o)
	return nil
}

// count adds an order to a group.
func count(groups map[string]Group, name string, o order) {
	g := groups[name]
	groups[name] = Group{name, g.Orders + 1, g.Quantity + o.quantity, g.Amount + o.amount}
}

func parse(row []string) (o order, err error) {
	if len(row) != len(columns) {
		return o, fmt.Errorf("%d fields; want %d", len(row), len(columns))
	}
	for i, field := range row {
		if row[i] = strings.TrimSpace(field); row[i] == "" {
			return o, fmt.Errorf("%s is empty", columns[i])
		}
	}
	o = order{id: strings.Clone(row[0]), customer: row[2], product: row[3], currency: row[6]}
	if o.date, err = time.Parse(time.DateOnly, row[1]); err != nil {
		return o, fmt.Errorf("date %q is no date; want year-month-day", row[1])
	}
	if o.quantity, err = strconv.ParseInt(row[4], 10, 32); err != nil || o.quantity == 0 {
		return o, fmt.Errorf("quantity %q is no whole number other than 0", row[4])
	}
	price, err := ParseAmount(row[5])
	if err != nil || price < 0 {
		return o, fmt.Errorf("unit_price: %w", cmp.Or(err, fmt.Errorf("%q is negative", row[5])))
	}
	var ok bool
	if o.amount, ok = price.Times(o.quantity); !ok {
		return o, fmt.Errorf("%s × %s is too large", row[4], row[5])
	}
	return o, nil
}

func (t *totals) finish(top int) Report {
	t.CustomerCount = len(t.customers)
	t.Customers = largest(t.customers, top)
	t.Products = largest(t.products, top)
	t.Months = slices.SortedFunc(maps.Values(t.months), func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	return t.Report
}

// largest are the first n groups by amount, then name.
func largest(groups map[string]Group, n int) []Group {
	all := slices.SortedFunc(maps.Values(groups), func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Amount, a.Amount), strings.Compare(a.Name, b.Name))
	})
	return all[:min(n, len(all))]
}
