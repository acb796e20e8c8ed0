import ConformanceKit
import Experimentation
import ExperimentationComposition
import Foundation
import Synchronization

/// A file in a folder of its own.
///
/// A fault is real trouble with the file while a batch is written.
final class FileStage: SubjectStage {
    private struct State {
        var world: World
        var faults: [WorldFault] = []
        var exchanges: [Exchange] = []
        /// The exchanges that tried to write an event, by its id.
        var writes: [String: [Int]] = [:]
        var isReachable = true
        var taken = 0
    }

    private let state: Mutex<State>
    private let turns = Turns()
    private let folder: URL
    /// The disk's real folder; the file's path leads there through a link.
    private var disk: URL { folder.appending(path: "disk") }
    private var gone: URL { folder.appending(path: "gone") }
    private var path: String { folder.appending(path: "mounted/events.jsonl").path }
    private var aside: String { folder.appending(path: "disk/aside").path }

    init(_ world: World) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "suite-file-\(UUID().uuidString)")
        state = Mutex(State(world: world))
        try FileManager.default.createDirectory(at: disk, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: folder.appending(path: "mounted").path,
            withDestinationPath: "disk"
        )
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    var gaps: [WorldGap] { state.withLock { WorldGap.ofDestinations(in: $0.world, "a file") } }

    func makeProvider() async throws -> any ExperimentationProvider {
        TroubledProvider(inner: FileProvider(configuration: FileConfiguration(path: path)), stage: self)
    }

    func change(to world: World) async throws { state.withLock { $0.world = world } }

    func inject(_ faults: [WorldFault]) async throws {
        for fault in faults {
            guard [.events, .exposures, .any].contains(fault.operation) else {
                throw SubjectError.unsupported("a file has no \(fault.operation.rawValue) to fail")
            }
            guard FileTrouble(fault.kind) != nil else {
                throw SubjectError.unsupported("a file can't fail like this: \(fault.kind.name)")
            }
        }
        state.withLock { $0.faults += faults }
    }

    func clearFaults() async throws { state.withLock { $0.faults = [] } }

    func setKillSwitch(_ isOn: Bool) async throws {
        throw SubjectError.unsupported("a file has no kill switch")
    }

    func setReachable(_ isReachable: Bool) async throws {
        try await turns.attempt { [self] in
            guard state.withLock({ $0.isReachable != isReachable }) else { return }
            try FileManager.default.moveItem(at: isReachable ? gone : disk, to: isReachable ? disk : gone)
            state.withLock { $0.isReachable = isReachable }
        }
    }

    func received() async throws -> [Received] { try await turns.attempt { [self] in try read() } }

    func takeReceived() async throws -> [Received]? {
        try await turns.attempt { [self] in
            let all = try read()
            return state.withLock { state in
                defer { state.taken = all.count }
                return Array(all.dropFirst(state.taken))
            }
        }
    }

    func exchanges() async throws -> [Exchange] { state.withLock { $0.exchanges } }

    func close() async {}

    /// All events in the file and in the rotated ones, in the order of writing.
    private func read() throws -> [Received] {
        let folder = state.withLock { $0.isReachable } ? disk : gone
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        // A name with a date sorts before the bare one.
        let lines = try names.filter { $0.hasPrefix("events") }.flatMap { name in
            try String(contentsOf: folder.appending(path: name), encoding: .utf8).split(separator: "\n")
        }
        var writes = state.withLock { $0.writes }
        return try lines.map { line in
            var received = try Received(json: String(line), exchange: 0)
            let id = received.eventID ?? ""
            // A failed attempt writes nothing, so the lines in the file belong to the last attempts.
            if let numbers = writes[id], let first = numbers.first {
                received.exchange = first
                if numbers.count > 1 { writes[id] = Array(numbers.dropFirst()) }
            }
            return received
        }
    }

    // MARK: Trouble

    /// Writes a batch with whatever trouble is due.
    fileprivate func deliver(_ batch: [Envelope], by sink: any EventSink) async -> DeliveryReport {
        await turns.take { [self] in
            let (number, trouble) = enter(batch)
            do {
                let restore = try begin(trouble)
                if case .slow(let milliseconds)? = trouble {
                    try? await ContinuousClock().sleep(for: .milliseconds(milliseconds))
                }
                let report = await sink.deliver(batch)
                try restore()
                note(batch, report, number)
                return report
            } catch {
                return DeliveryReport(.outage(because: OutageReason(rawValue: "the stage is broken: \(error)")))
            }
        }
    }

    private func enter(_ batch: [Envelope]) -> (number: Int, FileTrouble?) {
        state.withLock { state in
            guard state.isReachable else { return (0, nil) }
            let text = batch.map { "\($0.event.kind)" }.joined()
            let fault = state.faults.take(for: .events, holding: text)
            state.exchanges.append(
                Exchange(
                    number: state.exchanges.count + 1,
                    purpose: .events,
                    operation: "append",
                    method: "WRITE",
                    path: "/events.jsonl",
                    status: nil,
                    fault: fault?.kind.name
                )
            )
            return (state.exchanges.count, fault.flatMap { FileTrouble($0.kind) })
        }
    }

    private func note(_ batch: [Envelope], _ report: DeliveryReport, _ number: Int) {
        state.withLock { state in
            for (envelope, verdict) in zip(batch, report.verdicts(count: batch.count)) where verdict == .delivered {
                state.writes[envelope.id, default: []].append(number)
            }
        }
    }

    /// Puts something in the file's place.
    ///
    /// - Returns: What puts the file back.
    private func begin(_ trouble: FileTrouble?) throws -> () throws -> Void {
        switch trouble {
        case nil, .slow: return {}
        case .full:
            return try putAside {
                try FileManager.default.createSymbolicLink(atPath: $0, withDestinationPath: "/dev/full")
            }
        case .folder:
            return try putAside {
                try FileManager.default.createDirectory(atPath: $0, withIntermediateDirectories: false)
            }
        case .stuck:
            var ends: [Int32] = []
            let restore = try putAside { ends = try StuckPipe.open($0) }
            return {
                for end in ends { StuckPipe.close(end) }
                try restore()
            }
        }
    }

    private func putAside(_ place: (String) throws -> Void) throws -> () throws -> Void {
        let (path, aside) = (path, aside)
        let isThere = FileManager.default.fileExists(atPath: path)
        if isThere { try FileManager.default.moveItem(atPath: path, toPath: aside) }
        try place(path)
        return {
            try FileManager.default.removeItem(atPath: path)
            if isThere { try FileManager.default.moveItem(atPath: aside, toPath: path) }
        }
    }
}

/// The file's provider, with trouble between its sink and the disk.
private struct TroubledProvider: ExperimentationProvider {
    let inner: FileProvider
    let stage: FileStage

    var name: String { inner.name }
    var scope: String { inner.scope }
    var capabilities: Set<Capability> { inner.capabilities }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = try await inner.start(in: context)
        roles.events = roles.events.map { TroubledSink(sink: $0, stage: stage) }
        return roles
    }
}

private struct TroubledSink: EventSink {
    let sink: any EventSink
    let stage: FileStage
    var batching: BatchPolicy { sink.batching }
    func check(_ event: TrackingEvent) throws(ExperimentationError) { try sink.check(event) }
    func deliver(_ batch: [Envelope]) async -> DeliveryReport { await stage.deliver(batch, by: sink) }
}
