package sqlite

import "github.com/cairn-dev/cairn/internal/record/store/sqlstore"

// row is a row of a result.
type row interface {
	Int(col int) int64
	Text(col int) string
}

// query calls f for every row of a statement without parameters.
func query(c dbConn, sql string, f func(row)) error {
	st, err := c.Prepare(sql)
	if err != nil {
		return err
	}
	return forEachRow(st, f)
}

func forEachRow(st sqlstore.Stmt, f func(row)) error {
	for {
		more, err := st.Step()
		if err != nil || !more {
			if rerr := st.Reset(); err == nil {
				err = rerr
			}
			return err
		}
		f(st)
	}
}

// queryInt returns the first column of the only row.
func queryInt(c dbConn, sql string) (n int64, err error) {
	err = query(c, sql, func(r row) { n = r.Int(0) })
	return n, err
}

// metaValue returns a value of the meta table, "" if it does not exist.
func metaValue(c dbConn, key string) (value string, err error) {
	st, err := c.Prepare("SELECT value FROM meta WHERE key = ?1")
	if err != nil {
		return "", err
	}
	st.BindText(1, key)
	err = forEachRow(st, func(r row) { value = r.Text(0) })
	return value, err
}

func setMeta(c dbConn, key, value string) error {
	st, err := c.Prepare("INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2")
	if err != nil {
		return err
	}
	st.BindText(1, key)
	st.BindText(2, value)
	return forEachRow(st, func(row) {})
}
