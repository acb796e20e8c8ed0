import Experimentation
import Foundation
import Synchronization

/// Feeds lines of events to a client: in order for each user, many users concurrently.
final class Intake: Sendable {
    /// The progress so far.
    struct Counts: Sendable {
        var lines = 0
        var refused = 0
        /// The number of the last line read.
        var lastLine = 0
        /// Whether reading stopped because the outbox is full.
        var isFull = false
        /// Why reading stopped, if the store failed.
        var storeFailure: ExperimentationError?
    }

    /// Counters that other threads may read.
    final class Progress: Sendable {
        fileprivate let state = Mutex(Counts())
        var counts: Counts { state.withLock { $0 } }
    }

    /// The open sessions, which are replaced now and then: each keeps state about its pending events.
    private struct Sessions {
        var byUser: [String: UserSession] = [:]
        /// The number of events tracked in these sessions.
        var events = 0
    }

    private let client: ExperimentationClient
    private let isDurable: Bool
    private let progress: Progress
    private let sessions = Mutex(Sessions())

    private static let block = 512
    private static let lanes = 64
    private static let mostSessions = 1024
    private static let mostInSessions = 16_384
    // The maximum number of waiting events in memory; beyond it, reading waits for delivery.
    private static let mostInMemory = 4096

    init(client: ExperimentationClient, isDurable: Bool, progress: Progress = Progress()) {
        self.client = client
        self.isDurable = isDurable
        self.progress = progress
    }

    /// Accepts all lines and prints an error object for each that it can't accept.
    ///
    /// Returns early on a signal, and when the store fails, because further lines would fail as well.
    func take(_ lines: LineReader, until signals: Signals) async throws {
        var isAtEnd = false
        while !isAtEnd, !signals.hasCome {
            var block: [LineReader.Line] = []
            while block.count < Self.block {
                if !block.isEmpty, await lines.wouldWait { break }
                guard let line = try await lines.next() else {
                    isAtEnd = true
                    break
                }
                block.append(line)
            }
            // Lines read after the signal aren't accepted: the command no longer waits for this task.
            if signals.hasCome { return }
            let errors = await accept(block)
            if !errors.isEmpty { try Terminal.write(errors.map { JSONLine.text($0) + "\n" }.joined()) }
            let counts = progress.state.withLock { state in
                state.lines += block.count
                state.refused += errors.count
                state.lastLine = block.last?.number ?? state.lastLine
                return state
            }
            let refused = counts.refused > 0 ? ", \(counts.refused) refused" : ""
            Terminal.progress(counts.lines.of("line", "lines") + " read\(refused)")
            if counts.storeFailure != nil { return }
            if !isDurable, try await !hasRoom(until: signals) {
                progress.state.withLock { $0.isFull = true }
                return
            }
        }
    }

    /// Accepts a block and returns the error objects in line order.
    private func accept(_ block: [LineReader.Line]) async -> [FlagValue] {
        var failures: [(number: Int, document: FlagValue)] = []
        var lanes = [[(number: Int, line: EventLine)]](repeating: [], count: Self.lanes)
        for line in block {
            do {
                let read = try EventLine(line)
                lanes[Int(UInt(bitPattern: read.user.id.hashValue) % UInt(Self.lanes))].append((line.number, read))
            } catch let error as LineError {
                failures.append((line.number, Self.document(error.code, error.message, line.number)))
            } catch {
                failures.append((line.number, Self.document(.general, "\(error)", line.number)))
            }
        }
        let refused = await withTaskGroup(of: [(number: Int, document: FlagValue)].self) { group in
            for lane in lanes where !lane.isEmpty {
                group.addTask { await self.track(lane) }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        return (failures + refused).sorted { $0.number < $1.number }.map(\.document)
    }

    private func track(_ lane: [(number: Int, line: EventLine)]) async -> [(number: Int, document: FlagValue)] {
        var refused: [(number: Int, document: FlagValue)] = []
        for (number, line) in lane {
            do throws(ExperimentationError) {
                // Otherwise each line would wait as long for the store as the first one did.
                if let failure = progress.counts.storeFailure { throw failure }
                if let envelope = line.envelope {
                    try await client.accept(envelope, consent: line.user.consent)
                } else {
                    try await session(for: line.user).track(line.event, at: line.date)
                }
            } catch {
                if error.code == .store { progress.state.withLock { $0.storeFailure = $0.storeFailure ?? error } }
                refused.append((number, Self.document(error.code, "line \(number): \(error.message)", number)))
            }
        }
        return refused
    }

    private func session(for user: User) -> UserSession {
        sessions.withLock { sessions in
            if sessions.events >= Self.mostInSessions { sessions = Sessions() }
            sessions.events += 1
            // A line that differs in the user's details begins a new session: consent applies from that line on.
            if let session = sessions.byUser[user.id], session.user == user { return session }
            if sessions.byUser.count >= Self.mostSessions { sessions = Sessions() }
            let session = client.session(for: user)
            sessions.byUser[user.id] = session
            return session
        }
    }

    private static func document(_ code: ErrorCode, _ message: String, _ line: Int) -> FlagValue {
        ["line": .int(line), "error": JSONLine.error(code, message, line: line)]
    }

    // MARK: Delivery

    /// Waits until an in-memory outbox has room; returns `false` if the vendor accepts nothing.
    private func hasRoom(until signals: Signals) async throws -> Bool {
        func isFull() async throws -> Bool {
            let status = try await client.outboxStatus()
            return status.ready + status.delayed + status.leased >= Self.mostInMemory
        }
        if try await isFull() { _ = try await client.flush(within: .seconds(25)) }
        return try await !isFull() || signals.hasCome
    }

    /// Delivers for as long as there is progress.
    ///
    /// - Parameters:
    ///   - patience: How long to continue without progress.
    ///   - signals: The signals that end delivery early.
    /// - Returns: The events that still wait.
    func deliver(patience: Duration, until signals: Signals) async -> OutboxStatus {
        let client = client
        let showing = Terminal.showsProgress ? Task { await self.showDeliveries() } : nil
        defer { showing?.cancel() }
        var delivered = (try? await client.ledger())?.delivered
        while !signals.hasCome {
            let flushing = Task { try await client.flush(within: patience) }
            await Impatient.wait(for: flushing, unless: signals)
            guard !signals.hasCome, let status = try? await client.outboxStatus(),
                let now = (try? await client.ledger())?.delivered
            else { break }
            if status.ready + status.delayed + status.leased == 0 || now == delivered { return status }
            delivered = now
        }
        return (try? await client.outboxStatus()) ?? OutboxStatus()
    }

    private func showDeliveries() async {
        while let ledger = try? await client.ledger() {
            let delivered = ledger.delivered.of("event", "events")
            Terminal.progress("\(delivered) delivered, " + ledger.pending.of("waits", "wait"))
            do { try await Task.sleep(for: .seconds(1)) } catch { return }
        }
    }
}
