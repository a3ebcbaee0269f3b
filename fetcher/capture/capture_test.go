package capture

import "testing"

func TestByStatus(t *testing.T) {
	tests := []struct {
		status   int
		location bool
		want     Class
	}{
		{200, false, OK}, {200, true, OK}, {204, false, OK}, {206, false, OK}, {299, false, OK},
		{301, true, Redirect}, {302, true, Redirect}, {303, true, Redirect}, {307, true, Redirect}, {308, true, Redirect},
		{301, false, ClientError}, {300, true, ClientError}, {305, true, ClientError}, {306, true, ClientError}, {399, true, ClientError},
		{304, false, NotModified}, {304, true, NotModified},
		{400, false, ClientError}, {403, false, ClientError}, {404, false, ClientError}, {410, false, ClientError}, {499, false, ClientError},
		{429, false, Limited}, {503, false, Limited},
		{500, false, ServerError}, {502, false, ServerError}, {504, false, ServerError}, {599, false, ServerError}, {999, false, ServerError},
	}
	for _, tt := range tests {
		if got := ByStatus(tt.status, tt.location); got != tt.want {
			t.Errorf("%d, location %v: %s, want %s", tt.status, tt.location, got, tt.want)
		}
	}
}

// TestClasses pins what callers decide by: may it pass, was there a connection, is there a record.
func TestClasses(t *testing.T) {
	tests := []struct {
		class                          Class
		transient, unreachable, stored bool
	}{
		{OK, false, false, true},
		{Redirect, false, false, true},
		{NotModified, false, false, true},
		{ClientError, false, false, true},
		{ServerError, true, false, true},
		{Limited, true, false, true},
		{Blocked, true, false, true},
		{DNS, true, true, false},
		{Refused, true, true, false},
		{Reset, true, false, false},
		{TimeoutConnect, true, true, false},
		{TimeoutHead, true, false, false},
		{TimeoutBody, true, false, false},
		{TLS, true, true, false},
		{Protocol, false, false, false},
		{TruncatedLength, false, false, true},
		{TruncatedTime, true, false, true},
		{TruncatedDisconnect, true, false, true},
		{Undecodable, false, false, true},
		{Address, false, false, false},
	}
	for _, tt := range tests {
		if tt.class.Transient() != tt.transient || tt.class.Unreachable() != tt.unreachable || tt.class.Stored() != tt.stored {
			t.Errorf("%s: transient %v, unreachable %v, stored %v", tt.class, tt.class.Transient(), tt.class.Unreachable(), tt.class.Stored())
		}
	}
	var none *Capture
	if err := none.Close(); err != nil {
		t.Error(err)
	}
	if err := new(Capture).Close(); err != nil {
		t.Error(err)
	}
}
