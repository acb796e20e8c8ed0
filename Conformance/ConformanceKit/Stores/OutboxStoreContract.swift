import Experimentation
import Foundation

/// The contract of `OutboxStore`, as cases to run against any implementation.
///
/// ```swift
/// let report = await OutboxStoreContract.run(over: StoreBench { size in MyStore(most: size.maximumCount) })
/// precondition(report.failures.isEmpty, "\(report.failures)")
/// ```
///
/// Each case has a place of its own, passes the time to the store, and finally checks each destination's ledger against
/// the waiting events.
public enum OutboxStoreContract {
    /// All cases.
    public static let cases: [StoreCase<any OutboxStore>] =
        accepting + delivering + lanes + settling + consent + consentInHand + destinations + room + clocks + sharing
        + faults

    /// The cases for a store with these features.
    public static func cases(features: Set<StoreFeature>) -> [StoreCase<any OutboxStore>] {
        cases.filter { $0.needs.isSubset(of: features) }
    }

    /// Runs every case for the store's features, one after another.
    public static func run(over bench: StoreBench<any OutboxStore>) async -> StoreReport {
        await StoreReport.of(cases, over: bench)
    }

    /// Creates a case that finally checks the ledgers.
    static func rule(
        _ id: String,
        _ title: String,
        needs: Set<StoreFeature> = [],
        size: StoreSize = StoreSize(),
        steps: @escaping @Sendable (StoreTrial<any OutboxStore>) async throws -> Void
    ) -> StoreCase<any OutboxStore> {
        StoreCase(id, title, needs: needs, size: size) { trial in
            try await steps(trial)
            try await trial.expectBooksBalance()
        }
    }
}

extension StoreTrial<any OutboxStore> {
    /// Checks each destination's ledger against the waiting events, and their sum against the total ledger.
    func expectBooksBalance() async throws {
        let store = store
        var sum = Ledger()
        for destination in try await store.destinations() {
            let ledger = try await store.ledger(of: destination)
            if !ledger.isBalanced { fail("The accounts of \(destination) don't balance: \(ledger)") }
            let status = try await store.status(of: destination, now: start)
            expect(ledger.pending, status.deliverable + status.held)
            sum = sum + ledger
        }
        expect(try await store.ledger(), sum)
        // Counted independently of the store's own counts.
        var owed = 0
        var last: Int64 = 0
        while case let page = try await store.waiting(after: last, limit: 64), let end = page.last {
            owed += page.reduce(0) { $0 + $1.deliveries.count }
            last = end.envelope.sequence
        }
        expect(owed, sum.pending)
    }

    /// Compares a destination's ledger.
    func expectLedger(
        of destination: Destination = .home,
        _ expected: Ledger,
        file: StaticString = #fileID,
        line: UInt = #line
    ) async throws {
        expect(try await store.ledger(of: destination), expected, file: file, line: line)
    }

    /// Compares everything that a destination's lane delivers.
    func expectAll(
        of destination: Destination = .home,
        owner: Int64 = 9,
        at seconds: Double = 0,
        _ expected: [String],
        file: StaticString = #fileID,
        line: UInt = #line
    ) async throws {
        let answer = try await store.take(owner, of: destination, at: seconds)
        if case .leased(let lease) = answer {
            expect(lease.ids, expected, file: file, line: line)
            try await store.release(lease.token, pause: nil, now: at(seconds))
        } else if expected.isEmpty, case .nothing = answer {
        } else {
            fail("\(file):\(line): \(answer) instead of \(expected)")
        }
    }
}
