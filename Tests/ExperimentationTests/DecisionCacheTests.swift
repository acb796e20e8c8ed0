import Testing

@testable import Experimentation

@Suite("Decisions of users without a session are kept, within a bound")
struct DecisionCacheTests {
    private func decisions(_ number: Int) -> Decisions { Decisions(flags: [("n", Resolution(.int(number)))]) }

    @Test("P46 of ten thousand users no more are kept than the limit", arguments: [1, 7, 100, 1_000, 1_001, 4_099])
    func bounded(limit: Int) {
        let cache = DecisionCache(limit: limit)
        for number in 0..<10_000 {
            cache.keep(decisions(number), for: User(id: "u\(number)"))
            if number % 500 == 0 { #expect(cache.count <= limit) }
        }
        #expect(cache.count <= limit && cache.count >= limit - limit / 10)
        #expect(cache.decisions(for: User(id: "u9999"))?["n"]?.value == 9_999)
        if limit <= 1_000 {
            let kept = (0..<10_000).filter { cache.decisions(for: User(id: "u\($0)")) != nil }
            #expect(kept == Array((10_000 - limit)..<10_000))
        }
    }

    /// The same, written as plainly as possible.
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

    @Test("P46 the one unused for longest goes, whatever is kept, used and forgotten in between", arguments: 0..<40)
    func exact(seed: Int) {
        let dice = Dice(seed)
        let limit = 1 + dice.below(12)
        let cache = DecisionCache(limit: limit)
        var model = Model(limit: limit)
        for step in 0..<500 {
            let id = "u\(dice.below(20))"
            switch dice.below(8) {
            case 0...3:
                cache.keep(decisions(step), for: User(id: id))
                model.keep(step, id)
            case 4...6:
                #expect(cache.decisions(for: User(id: id))?["n"]?.value.intValue == model.use(id), "step \(step)")
            default:
                cache.forget(id)
                model.entries.removeAll { $0.id == id }
            }
            #expect(cache.count == model.entries.count, "step \(step)")
        }
    }

    @Test("P46 in the store, too, only the users who were written last are kept")
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
