package pgbulk

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// stageName is the temporary table's name, or its beginning: in the caller's transaction there is
// one for each role and set of columns, for all calls. Creating and dropping one for each call
// would leave locks on eight relations each time, until the transaction ends.
const stageName = "pgbulk_stage"

// createStage is the statements that make the stage, and gives it its name. Its values are not
// compressed (external): a large one is, once, on the way into the table. With the table's own
// storage, a value that compresses would be moved as it is, which saves 5% of the server's time.
// But one that does not compress would be tried twice, which costs 50% more, and one that is not
// written (SkipUnchanged) would be compressed for nothing. CREATE TABLE LIKE is not used: it needs
// the right to read the whole table.
func (c *copying) createStage() string {
	columns := strings.Join(c.stageColumns(), ", ")
	c.stage = stageName
	if c.session.inTx {
		c.stage += fmt.Sprintf("_%x", sha256.Sum256([]byte(c.session.plan.layout.relation.role+"\x00"+columns)))[:17]
	}
	sql := fmt.Sprintf("create temporary table %s (%s) on commit drop; ", c.stage, columns)
	var alter []string
	for i, col := range c.session.enc.columns {
		if c.session.plan.layout.attributes[i].toasts || col.format != binaryFormat {
			alter = append(alter, "alter "+quote(col.name)+" set storage external")
		}
	}
	if len(alter) > 0 {
		sql += fmt.Sprintf("alter table pg_temp.%s %s; ", c.stage, strings.Join(alter, ", "))
	}
	if c.session.inTx {
		return ifMissing(c.stage, sql)
	}
	return sql
}

// ifMissing runs statements if there is no temporary table of that name. CREATE TABLE IF NOT EXISTS
// would send a notice each time that there is one.
func ifMissing(table, sql string) string {
	tag := "$do$"
	for strings.Contains(sql, tag) {
		tag = "$" + tag[1:len(tag)-1] + "o$"
	}
	return "do " + tag + " begin if to_regclass('pg_temp." + table + "') is null then " + sql + "end if; end " + tag + "; "
}

// stageColumns are the definitions of the stage's columns. They have the types of parameters, as an
// INSERT with VALUES has: only the way into the table cuts, rounds, or refuses. What is sent as
// text is text there.
func (c *copying) stageColumns() []string {
	definitions := make([]string, len(c.session.enc.columns))
	for i, col := range c.session.enc.columns {
		definitions[i] = quote(col.name) + " "
		if a := c.session.plan.layout.attributes[i]; col.format == binaryFormat {
			definitions[i] += a.cast + a.collation
		} else {
			definitions[i] += "text"
		}
	}
	return definitions
}

// insertSelect is the statement that takes the rows out of the stage.
func (c *copying) insertSelect() string {
	p := c.session.plan
	head, tail := p.settings.parts(&p.table, p.layout.collation)
	values := make([]string, len(c.session.enc.columns))
	for i := range values {
		values[i] = c.session.fromStage(i)
	}
	sql := head + "select " + strings.Join(values, ", ") + " from pg_temp." + c.stage + " where true" // without it SELECT ... ON would be taken for a join's
	if c.session.keyed.sorts {
		sql += c.session.orderBy()
	}
	return sql + tail + p.returns()
}

// orderBy sorts the rows that come out of a SELECT by the table's key, so that two calls that
// update the same rows lock them in the same order and cannot deadlock.
func (c *session) orderBy() string {
	var key []string
	for i, is := range c.enc.isKey {
		if is {
			key = append(key, c.fromStage(i)+c.plan.layout.attributes[i].collation)
		}
	}
	return " order by " + strings.Join(key, ", ")
}

// fromStage reads the i-th column out of the stage, with the type that a parameter for it has. The
// type's input function must read text. A cast calls it for PostgreSQL's own types, except regclass.
// Other types may have a cast from text that does something else; an array always calls it.
func (c *session) fromStage(i int) string {
	col, cast := &c.enc.columns[i], c.plan.layout.attributes[i].cast
	switch {
	case col.format == binaryFormat:
		return quote(col.name)
	case col.oid < firstUserType && col.oid != regclassOID || strings.HasSuffix(cast, "]"):
		return quote(col.name) + "::" + cast
	}
	return "(array[" + quote(col.name) + "]::text::" + cast + "[])[1]"
}

const regclassOID = 2205
