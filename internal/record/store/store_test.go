package store

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// A session has the record of its row. The data of an earlier version names one, too, which may be deleted.
func TestRawSessionHasTheRecordOfItsRow(t *testing.T) {
	for _, want := range []RawSession{
		{ID: "ses_a", RecordID: "prj_new", Data: jsontext.Value(`{"id":"ses_a","recordID":"prj_old"}`)},
		{ID: "ses_b", Data: jsontext.Value(`{"id":"ses_b","recordID":"prj_old"}`)},
	} {
		s, err := want.Session()
		if err != nil || s.RecordID != want.RecordID {
			t.Errorf("%s has the record %q, want %q, %v", want.ID, s.RecordID, want.RecordID, err)
		}
	}
}
