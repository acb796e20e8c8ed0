import Experimentation

/// The contract of `StateStore`, as cases to run against any implementation; see ``OutboxStoreContract``.
public enum StateStoreContract {
    /// All cases.
    public static let cases: [StoreCase<any StateStore>] = values + shared + faults

    /// The cases for a store with these features.
    public static func cases(features: Set<StoreFeature>) -> [StoreCase<any StateStore>] {
        cases.filter { $0.needs.isSubset(of: features) }
    }

    /// Runs every case for the store's features, one after another.
    public static func run(over bench: StoreBench<any StateStore>) async -> StoreReport {
        await StoreReport.of(cases, over: bench)
    }

    private typealias Case = StoreCase<any StateStore>

    private static let values: [StoreCase<any StateStore>] = [
        Case("state/values", "values are set, replaced and removed") { trial in
            let store = trial.store
            trial.expect(try await store.value(for: "a"), nil)
            for value: [UInt8]? in [[], [0, 255, 39], Array(repeating: 7, count: 100_000), nil, [1]] {
                try await store.setValue(value, for: "a")
                trial.expect(try await store.value(for: "a"), value)
            }
        },
        Case("state/keys", "keys come in the order of their last writing") { trial in
            let store = trial.store
            for key in ["d/1", "d/2", "e/1", "d/3", "d", "d/%", "d/_", "D/1", "d/\u{10FFFE}"] {
                try await store.setValue([1], for: key)
            }
            try await store.setValue([2], for: "d/1")
            trial.expect(try await store.update("d/2", to: [2], if: [1]), .updated)
            trial.expect(try await store.update("d/3", to: [2], if: [7]), .conflict([1]))
            trial.expect(
                try await store.keys(beginningWith: "d/"),
                ["d/3", "d/%", "d/_", "d/\u{10FFFE}", "d/1", "d/2"]
            )
            try await store.removeAll(beginningWith: "d/")
            trial.expect(try await store.keys(beginningWith: ""), ["e/1", "d", "D/1"])
        },
        Case("state/several-beginnings", "one call removes what begins with any of several texts, and nothing else") {
            trial in
            let store = trial.store
            for key in ["d/1", "d/2", "e", "e/1", "d-1", "f/1"] { try await store.setValue([1], for: key) }
            try await store.removeAll(beginningWith: ["d/", "nowhere/", "e"])
            trial.expect(try await store.keys(beginningWith: ""), ["d-1", "f/1"])
            for key in ["d/1", "e", "e/1"] { trial.expect(try await store.value(for: key), nil) }
            try await store.removeAll(beginningWith: [])
            trial.expect(try await store.keys(beginningWith: ""), ["d-1", "f/1"])
        },
        Case("state/exact", "keys that look alike are two keys, and a beginning is one of bytes") { trial in
            let store = trial.store
            let alike = ["k/é", "k/e\u{301}", "k/e", "k\u{301}/x"]
            for (index, key) in alike.enumerated() { try await store.setValue([UInt8(index)], for: key) }
            var values: [[UInt8]?] = []
            for key in alike { values.append(try await store.value(for: key)) }
            trial.expect(values, [[0], [1], [2], [3]])
            trial.expect(
                try await store.keys(beginningWith: "k/e").map { Array($0.utf8) },
                ["k/e\u{301}", "k/e"].map { Array($0.utf8) }
            )
            try await store.removeAll(beginningWith: "k")
            trial.expect(try await store.keys(beginningWith: ""), [])
        },
        Case("state/update", "a value is changed only if it is what the caller has seen") { trial in
            let store = trial.store
            let table: [([UInt8]?, [UInt8]?, [UInt8]?, StateUpdate)] = [
                (nil, [1], nil, .updated), ([1], [2], nil, .conflict([1])), ([1], [2], [9], .conflict([1])),
                ([1], [2], [1], .updated), (nil, [1], [], .conflict(nil)), ([], [1], nil, .conflict([])),
                ([1], nil, [2], .conflict([1])), ([1], nil, [1], .updated), (nil, nil, nil, .updated),
            ]
            for (before, value, expected, outcome) in table {
                try await store.setValue(before, for: "k")
                trial.expect(try await store.update("k", to: value, if: expected), outcome)
                trial.expect(try await store.value(for: "k"), outcome == .updated ? value : before)
            }
        },
        Case("state/first", "of many that put a value at once one does, and the others learn which") { trial in
            try await race(on: [trial.store], trial)
        },
    ]

    private static let shared: [StoreCase<any StateStore>] = [
        Case("state/first-of-two", "so it is between two that have the store open", needs: [.shared]) { trial in
            try await race(on: [trial.store, try await trial.opened()], trial)
        },
        Case("state/counted", "two that change a value in turns lose no change", needs: [.shared]) { trial in
            let stores = [trial.store, try await trial.opened()]
            try await withThrowingTaskGroup { group in
                for store in stores {
                    group.addTask {
                        var done = 0
                        var seen: [UInt8]?
                        while done < 40 {
                            switch try await store.update("n", to: [(seen?.first ?? 0) &+ 1], if: seen) {
                            case .updated:
                                seen = [(seen?.first ?? 0) &+ 1]
                                done += 1
                            case .conflict(let value): seen = value
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            for store in stores { trial.expect(try await store.value(for: "n"), [80]) }
        },
        Case("state/reopened", "closed and opened again, values and their order are there", needs: [.durable]) {
            trial in
            for (key, value) in [("b", 1), ("a", 2), ("c", 3), ("b", 4)] as [(String, UInt8)] {
                try await trial.store.setValue([value], for: key)
            }
            try await trial.store.setValue(nil, for: "c")
            let store = try await trial.reopened()
            trial.expect(try await store.keys(beginningWith: ""), ["a", "b"])
            trial.expect(try await store.value(for: "b"), [4])
        },
    ]

    private static func race(on stores: [any StateStore], _ trial: StoreTrial<any StateStore>) async throws {
        for round in 0..<10 {
            let answers = try await withThrowingTaskGroup(of: (UInt8, StateUpdate).self) { group in
                for number in 0..<20 as Range<UInt8> {
                    let store = stores[Int(number) % stores.count]
                    group.addTask { (number, try await store.update("k\(round)", to: [number], if: nil)) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let winners = answers.filter { $0.1 == .updated }
            trial.expect(winners.count, 1)
            guard let winner = winners.first else { continue }
            for (number, answer) in answers where number != winner.0 { trial.expect(answer, .conflict([winner.0])) }
            trial.expect(try await trial.store.value(for: "k\(round)"), [winner.0])
        }
    }

    private static let faults: [StoreCase<any StateStore>] = FaultMoment.allCases.flatMap { moment in
        [StoreOperation.value, .setValue, .update, .keys, .removeAll].map { operation in
            Case(
                "state/\(operation.rawValue)-\(moment.rawValue)",
                "\(operation.rawValue) fails \(moment.rawValue) it is done and is tried again: the value is one that was set"
            ) { trial in
                let store = FaultyStore(
                    ClientStore(outbox: InMemoryOutboxStore(), state: trial.store),
                    operation,
                    moment
                )
                try await again { try await store.setValue([1], for: "k") }
                trial.expect(try await again { try await store.value(for: "k") }, [1])
                // A caller that doesn't learn of its success finds its own value there.
                let update = try await again { try await store.update("k", to: [2], if: [1]) }
                trial.expect(update, operation == .update && moment == .after ? .conflict([2]) : .updated)
                trial.expect(try await again { try await store.keys(beginningWith: "") }, ["k"])
                try await again { try await store.removeAll(beginningWith: "k") }
                trial.expect(try await again { try await store.value(for: "k") }, nil)
            }
        }
    }
}
