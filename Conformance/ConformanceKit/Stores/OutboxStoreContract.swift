import Experimentation
import Foundation

/// What ``OutboxStore`` promises, as cases to run over a store of one's own.
///
/// ```swift
/// let report = await OutboxStoreContract.run(over: StoreBench { size in MyStore(most: size.maximumCount) })
/// precondition(report.failures.isEmpty, "\(report.failures)")
/// ```
///
/// Each case has a place of its own, tells the store what time it is, and at its end holds the accounts of each destination
/// against what waits.
public enum OutboxStoreContract {
    /// All cases.
    public static let cases: [StoreCase<any OutboxStore>] =
        accepting + delivering + lanes + settling + consent + consentInHand + destinations + room + clocks + sharing
        + faults

    /// The cases for a store with these features.
    public static func cases(features: Set<StoreFeature>) -> [StoreCase<any OutboxStore>] {
        cases.filter { $0.needs.isSubset(of: features) }
    }

    /// Runs every case that the store has the features for, one after another.
    public static func run(over bench: StoreBench<any OutboxStore>) async -> StoreReport {
        await StoreReport.of(cases, over: bench)
    }

    /// A case at whose end the accounts are held against each other.
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
    /// Holds the accounts of each destination against what waits, and their sum against the accounts of all.
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
        // By another way than the counts.
        var owed = 0
        var last: Int64 = 0
        while case let page = try await store.waiting(after: last, limit: 64), let end = page.last {
            owed += page.reduce(0) { $0 + $1.deliveries.count }
            last = end.envelope.sequence
        }
        expect(owed, sum.pending)
    }

    /// Compares the accounts of a destination.
    func expectLedger(
        of destination: Destination = .home,
        _ expected: Ledger,
        file: StaticString = #fileID,
        line: UInt = #line
    ) async throws {
        expect(try await store.ledger(of: destination), expected, file: file, line: line)
    }

    /// Compares what a deliverer gets who takes all of a destination's lane.
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
