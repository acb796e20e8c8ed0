import Testing

@testable import Experimentation

@Suite("Decisions of users without a session are cached, within a limit")
struct DecisionCacheTests {
    private func decisions(_ number: Int) -> HeldDecisions {
        HeldDecisions(
            decisions: Decisions(flags: [("n", Resolution(.int(number)))]),
            instant: .now,
            expiry: nil,
            afterExpiry: .stale
        )
    }

    /// The weight of one user's decisions.
    private var weight: Int {
        let cache = DecisionCache(bytes: 0)
        cache.keep(decisions(0), for: User(id: "u0000"))
        return cache.bytes
    }

    @Test("P46 of ten thousand users, as many are kept as fit", arguments: [1, 7, 100, 1_000, 9_999, 20_000])
    func bounded(users: Int) {
        let bytes = users * weight
        let cache = DecisionCache(bytes: bytes)
        // Ids of equal length, so that all entries have the same weight.
        let ids = (10_000..<20_000).map { "u" + String($0).dropFirst() }
        for (number, id) in ids.enumerated() {
            cache.keep(decisions(number), for: User(id: id))
            if number % 500 == 0 { #expect(cache.bytes <= bytes) }
        }
        #expect(cache.bytes <= bytes && cache.count * weight == cache.bytes)
        #expect(cache.decisions(for: User(id: "u9999"))?.decisions["n"]?.value == 9_999)
        if bytes < DecisionCache.manyBytes {
            let kept = ids.indices.filter { cache.decisions(for: User(id: ids[$0])) != nil }
            #expect(kept == Array((10_000 - min(users, 10_000))..<10_000))
        } else {
            #expect(cache.count >= min(users, 10_000) * 9 / 10)
        }
    }

    @Test("P46 decisions larger than the limit are kept until others arrive")
    func large() {
        let cache = DecisionCache(bytes: 10)
        cache.keep(decisions(1), for: User(id: "a"))
        #expect(cache.decisions(for: User(id: "a"))?.decisions["n"]?.value == 1)
        cache.keep(decisions(2), for: User(id: "b"))
        #expect(cache.decisions(for: User(id: "a")) == nil)
        #expect(cache.count == 1)
    }

    /// The cache in its simplest form.
    private struct Model {
        let limit: Int
        var entries: [(id: String, number: Int)] = []

        mutating func keep(_ number: Int, _ id: String) {
            entries.removeAll { $0.id == id }
            if entries.count == limit { entries.removeFirst() }
            entries.append((id, number))
        }

        mutating func use(_ id: String) -> Int? {
            guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
            entries.append(entries.remove(at: index))
            return entries.last?.number
        }
    }

    @Test("P46 the least recently used are evicted first, after any sequence of operations", arguments: 0..<40)
    func exact(seed: Int) {
        let dice = Dice(seed)
        let limit = 1 + dice.below(12)
        let ids = (10..<30).map { "u00\($0)" }
        let cache = DecisionCache(bytes: limit * weight)
        var model = Model(limit: limit)
        for step in 0..<500 {
            let id = ids[dice.below(20)]
            switch dice.below(8) {
            case 0...3:
                cache.keep(decisions(step), for: User(id: id))
                model.keep(step, id)
            case 4...6:
                #expect(
                    cache.decisions(for: User(id: id))?.decisions["n"]?.value.intValue == model.use(id),
                    "step \(step)"
                )
            default:
                cache.forget(id)
                model.entries.removeAll { $0.id == id }
            }
            #expect(cache.count == model.entries.count, "step \(step)")
        }
    }

    @Test("P46 the store, too, keeps only the most recently written users")
    func stored() async throws {
        let store = ClientStore.inMemory()
        let source = GatedSource()
        source.open()
        let client = try await ExperimentationClient(
            provider: GatedProvider(source: source),
            store: store,
            options: ClientOptions(cachedUsers: 5)
        )
        for number in 0..<40 { try await client.session(for: User(id: "u\(number)")).refresh() }
        #expect(try await store.state.keys(beginningWith: "").filter { $0.contains("decisions/") }.count == 5)
        source.fail()
        let second = try await ExperimentationClient(provider: GatedProvider(source: source), store: store)
        var known: [Int] = []
        for number in 0..<40 {
            let session = second.session(for: User(id: "u\(number)"))
            try? await session.refresh()
            if session.string("user", default: "") == "u\(number)" { known.append(number) }
        }
        #expect(known == Array(35..<40))
    }
}
