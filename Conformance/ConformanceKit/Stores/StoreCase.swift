import Synchronization

/// One rule of a store's contract, and how to see that it is kept.
public struct StoreCase<Store: Sendable>: Sendable, Identifiable, CustomStringConvertible {
    /// The steps of a case.
    public typealias Steps = @Sendable (StoreTrial<Store>) async throws -> Void

    /// A name with a slash, `consent/denied`; it never changes.
    public let id: String
    /// The rule, in a sentence.
    public let title: String
    /// What the store must be able to do.
    public let needs: Set<StoreFeature>
    /// What the store is opened for.
    public let size: StoreSize
    /// The steps.
    public let steps: Steps

    /// Creates a case.
    ///
    /// - Parameters:
    ///   - id: A name with a slash.
    ///   - title: The rule, in a sentence.
    ///   - needs: What the store must be able to do.
    ///   - size: What the store is opened for; anything but the default is a need for ``StoreFeature/limited``.
    ///   - steps: The steps; expectations are made through the trial.
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

    /// The rule.
    public var description: String { "\(id): \(title)" }

    /// Runs the case.
    ///
    /// - Parameters:
    ///   - bench: The store.
    ///   - limit: How long it may take, in real time.
    /// - Returns: What the store did otherwise.
    public func failures(over bench: StoreBench<Store>, within limit: Duration = .seconds(60)) async -> [StoreFailure] {
        let messages: [String]
        do {
            let trial = StoreTrial(try await bench.place(size))
            do {
                try await Bounded.run(for: limit) { [steps] in
                    _ = try await trial.opened()
                    try await steps(trial)
                }
            } catch {
                trial.fail("\(error)")
            }
            await trial.closeAll()
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

/// A case that is being run: the open place, and what was found.
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

    /// Opens the place again after all that is open was closed, or only let go of, as by a process that is killed.
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

    /// What was found.
    var messages: [String] { state.withLock { $0.messages } }

    // MARK: Expectations

    /// Notes a failure.
    public func fail(_ message: String) { state.withLock { $0.messages.append(message) } }

    /// Notes a failure if two values differ.
    ///
    /// - Parameters:
    ///   - actual: What the store gave.
    ///   - expected: What the contract has.
    ///   - file: Where the expectation stands.
    ///   - line: On which line.
    public func expect<Value: Equatable>(
        _ actual: Value,
        _ expected: Value,
        file: StaticString = #fileID,
        line: UInt = #line
    ) {
        if actual != expected { fail("\(file):\(line): \(actual) instead of \(expected)") }
    }
}
