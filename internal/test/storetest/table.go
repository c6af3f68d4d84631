package storetest

// table is a map that is cheap to fork: a shard is copied when it is first written after the fork. A forked table
// is not written any more.
type table[K ~string, V any] struct {
	shards [64]map[K]V
	own    uint64 // bit i: shard i is this table's own
}

func shardOf[K ~string](k K) int {
	h := uint32(2166136261)
	for i := range len(k) {
		h = (h ^ uint32(k[i])) * 16777619
	}
	return int(h>>16^h) & 63
}

func (t *table[K, V]) fork() table[K, V] {
	f := *t
	f.own = 0
	return f
}

func (t *table[K, V]) get(k K) (V, bool) {
	v, ok := t.shards[shardOf(k)][k]
	return v, ok
}

func (t *table[K, V]) put(k K, v V) { t.ownShard(shardOf(k))[k] = v }

func (t *table[K, V]) remove(k K) { delete(t.ownShard(shardOf(k)), k) }

func (t *table[K, V]) ownShard(i int) map[K]V {
	if t.own&(1<<i) == 0 {
		m := make(map[K]V, len(t.shards[i])+1)
		for k, v := range t.shards[i] {
			m[k] = v
		}
		t.shards[i] = m
		t.own |= 1 << i
	}
	return t.shards[i]
}

// forEach calls f for every entry, in no particular order.
func (t *table[K, V]) forEach(f func(K, V)) {
	for _, m := range t.shards {
		for k, v := range m {
			f(k, v)
		}
	}
}
