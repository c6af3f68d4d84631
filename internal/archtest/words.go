package archtest

// knownVerbs may name a function alone: they mean the same in every Go program. The last line is what packages errors
// and fmt look for, or call their own.
const knownVerbs = `
	accept access acquire add append apply ask attach authorize backoff begin bind block bound build call cancel
	check checkpoint clean clear clip clone close collect combine commit compact compare complete compile compress confirm
	connect contains convert copy count create cut decode decompress dedupe define delete deliver describe detach detect
	dial diff discard discover dispatch display drain drop dump edit embed emit encode encrypt ensure enter equal
	escape evaluate evict exchange exec execute exit expand explain export extract fail fetch fill filter find finish
	fire flush fold follow free fork format forward get getenv grant handle hash hide import index infer initialize init
	inject input insert install intersect interrupt invalidate invoke issue iterate join jump kill launch
	less link list listen load lock log login logout lookup lower main make mark marshal match max merge min mkdir mount
	move mutate negotiate new next normalize notify observe open order output pack page parse patch peek ping pipe plan poll
	pop prepare prepend print probe process project promote prompt propose provide prune publish push put query quote
	read rebase rebuild receive recompute reconcile reconnect record recover redact redirect reduce refresh refuse register
	reject release reload remove rename render renew repair replace replay reply report request require reserve reset
	resize resolve respond restart restore result resume retry return revert revoke rewrite rollback rotate round route run
	sample save scan score search seek select send serve set setenv settle shorten show shuffle shutdown sign signal skip sleep
	sort spawn split start stat stop store stream strip submit subscribe sum suspend swap switch sync tail terminate
	test tick toggle touch trace track transform translate trim truncate try uncompact unescape uninstall unlock unmarshal
	unpack unquote unregister unsubscribe unwrap update upgrade use validate verify view visit wait wake walk watch wrap
	write yield
	as is errorf failf printf`

// knownNouns may name an accessor or a pure conversion alone.
const knownNouns = `
	addr address agent agents allowed args asks attributes body bool bytes cap catalog children client code command commands
	config content context cost cwd data date deadline default definition dir directory distance done duration empty enabled endpoint
	env err error errors event events exists expired failed family fd field fields file files first flag flags float
	hash header headers height host id ids info int items key keys kind kinds language len length level limit limits line
	lines literal location locations logger max message messages meta metadata method methods mode model models name names
	new now number offset options owner parent part parts path paths permissions pid point port position prefix priority
	project projects provider providers reader reason remaining root routes rules schema scope self seq session sessions
	shell size snapshot source sources state stats status string strings suffix tag tags temp text time timeout title token
	tokens tool tools total type types unread url usage user valid value values variant version width word words writer zero
	`
