import Synchronization

/// A rule of a store's contract, and how to verify it.
public struct StoreCase<Store: Sendable>: Sendable, Identifiable, CustomStringConvertible {
    /// The steps of a case.
    public typealias Steps = @Sendable (StoreTrial<Store>) async throws -> Void

    /// A name with a slash, such as `consent/denied`; it never changes.
    public let id: String
    /// The rule, in a sentence.
    public let title: String
    /// The features that the store needs.
    public let needs: Set<StoreFeature>
    /// The limits that the store is opened with.
    public let size: StoreSize
    /// The steps.
    public let steps: Steps

    /// Creates a case.
    ///
    /// - Parameters:
    ///   - id: A name with a slash.
    ///   - title: The rule, in a sentence.
    ///   - needs: The features that the store needs.
    ///   - size: The limits that the store is opened with; any but the default require ``StoreFeature/limited``.
    ///   - steps: The steps; they state expectations through the trial.
    public init(
        _ id: String,
        _ title: String,
        needs: Set<StoreFeature> = [],
        size: StoreSize = StoreSize(),
        steps: @escaping Steps
    ) {
        self.id = id
        self.title = title
        self.needs = size == StoreSize() ? needs : needs.union([.limited])
        self.size = size
        self.steps = steps
    }

    /// The id and the rule.
    public var description: String { "\(id): \(title)" }

    /// Runs the case.
    ///
    /// - Parameters:
    ///   - bench: The store.
    ///   - limit: The time limit, in real time.
    /// - Returns: The violations.
    public func failures(over bench: StoreBench<Store>, within limit: Duration = .seconds(60)) async -> [StoreFailure] {
        let messages: [String]
        do {
            let place = try await Bounded.run(for: limit) { [size] in try await bench.place(size) }
            let trial = StoreTrial(place)
            do {
                try await Bounded.run(for: limit) { [steps] in
                    _ = try await trial.opened()
                    try await steps(trial)
                }
            } catch {
                trial.fail("\(error)")
            }
            do { try await Bounded.run(for: limit) { await trial.closeAll() } } catch {
                trial.fail("It can't be closed: \(error)")
            }
            messages = trial.messages
        } catch {
            messages = ["It can't be opened: \(error)"]
        }
        return messages.map { StoreFailure(caseID: id, title: title, message: $0) }
    }
}

extension StoreReport {
    /// Runs cases one after another.
    static func of<Store>(_ cases: [StoreCase<Store>], over bench: StoreBench<Store>) async -> StoreReport {
        var report = StoreReport()
        for storeCase in cases {
            guard storeCase.needs.isSubset(of: bench.features) else {
                report.leftOut.append(storeCase.id)
                continue
            }
            report.run.append(storeCase.id)
            report.failures += await storeCase.failures(over: bench)
        }
        return report
    }
}

/// A run of a case: the open place and the failures.
public final class StoreTrial<Store: Sendable>: Sendable {
    private struct State {
        var handles: [Store] = []
        var messages: [String] = []
    }

    private let place: StorePlace<Store>
    private let state = Mutex(State())

    init(_ place: StorePlace<Store>) { self.place = place }

    /// Opens the place once more, as another process would.
    public func opened() async throws -> Store {
        let store = try await place.open()
        state.withLock { $0.handles.append(store) }
        return store
    }

    /// The store that was opened first.
    public var store: Store { state.withLock { $0.handles[0] } }

    /// Reopens the place after closing all open stores, or merely releasing them as a killed process does.
    public func reopened(isClosed: Bool = true) async throws -> Store {
        let stores = state.withLock { state in
            defer { state.handles = [] }
            return state.handles
        }
        if isClosed { for store in stores { try await place.close(store) } }
        return try await opened()
    }

    func closeAll() async {
        for store in state.withLock({ $0.handles }) {
            do { try await place.close(store) } catch { fail("It can't be closed: \(error)") }
        }
    }

    /// The failures.
    var messages: [String] { state.withLock { $0.messages } }

    // MARK: Expectations

    /// Notes a failure.
    public func fail(_ message: String) { state.withLock { $0.messages.append(message) } }

    /// Notes a failure if two values differ.
    ///
    /// - Parameters:
    ///   - actual: The store's value.
    ///   - expected: The contract's value.
    ///   - file: The file of the expectation.
    ///   - line: The line of the expectation.
    public func expect<Value: Equatable>(
        _ actual: Value,
        _ expected: Value,
        file: StaticString = #fileID,
        line: UInt = #line
    ) {
        if actual != expected { fail("\(file):\(line): \(actual) instead of \(expected)") }
    }
}
