import Experimentation
import ExperimentationSQLite
import Testing

@Suite("Room that a full store makes")
struct SpareRoomTests {
    @Test(
        "a full store drops a 128th of its limit at once, the oldest first, and nothing for the next events",
        arguments: StoreKind.allCases,
        [(limit: 1_280, dropped: 11), (limit: 100, dropped: 1)]
    )
    func spare(_ kind: StoreKind, _ row: (limit: Int, dropped: Int)) async throws {
        let folder = TemporaryFolder()
        let store = try kind.open(folder, limits: StoreLimits(maximumCount: row.limit))
        try await store.append((0..<row.limit).map { Envelope.sample("e\($0)") })
        #expect(try await store.ledger().dropped == [:])
        for number in row.limit..<row.limit + row.dropped {
            try await store.append([Envelope.sample("e\(number)")])
            #expect(try await store.ledger().dropped == [.overflow: row.dropped])
        }
        #expect(try await store.ledger().pending == row.limit)
        #expect(try await store.waiting(after: 0, limit: 1).map(\.envelope.id) == ["e\(row.dropped)"])
    }
}
