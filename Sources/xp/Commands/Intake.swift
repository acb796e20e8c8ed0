import Experimentation
import Foundation
import Synchronization

/// Lines of events into a client, in order for each user and many users side by side.
final class Intake: Sendable {
    /// How far it has come.
    struct Counts: Sendable {
        var lines = 0
        var refused = 0
        /// The number of the last line that was read.
        var lastLine = 0
        /// Whether reading stopped because nothing more could be kept.
        var isFull = false
        /// Why reading stopped, if the store failed: what comes after would fail as well.
        var storeFailure: ExperimentationError?
    }

    /// Counters that other threads read.
    final class Progress: Sendable {
        fileprivate let state = Mutex(Counts())
        var counts: Counts { state.withLock { $0 } }
    }

    /// The sessions at hand; what each remembers of its events that wait adds up.
    private struct Sessions {
        var byUser: [String: UserSession] = [:]
        /// How many events were tracked in them.
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
    // What an outbox in memory may hold before reading waits for delivery, and when it gives up.
    private static let mostInMemory = 4096

    init(client: ExperimentationClient, isDurable: Bool, progress: Progress = Progress()) {
        self.client = client
        self.isDurable = isDurable
        self.progress = progress
    }

    /// Takes all lines, and prints an error object for each that can't be taken.
    ///
    /// It ends early when a signal comes, and when the store fails: then nothing is read after the lines that were refused.
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
            // What was read after the signal isn't accepted, because no caller waits for it any more.
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
            Terminal.progress("\(counts.lines) lines read\(refused)")
            if counts.storeFailure != nil { return }
            if !isDurable, try await !hasRoom(until: signals) {
                progress.state.withLock { $0.isFull = true }
                return
            }
        }
    }

    /// Accepts a block and gives the error objects, in the order of the lines.
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
                // Each would wait for the store as long as the first did.
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
            // A line that says something else of its user begins another session: consent counts from that line on.
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

    /// Waits until an outbox in memory has room again; false if the vendor takes nothing.
    private func hasRoom(until signals: Signals) async throws -> Bool {
        func isFull() async throws -> Bool {
            let status = try await client.outboxStatus()
            return status.ready + status.delayed + status.leased >= Self.mostInMemory
        }
        if try await isFull() { _ = try await client.flush(within: .seconds(25)) }
        return try await !isFull() || signals.hasCome
    }

    /// Delivers what waits for as long as there is progress, and returns the resulting state.
    ///
    /// - Parameters:
    ///   - patience: How long to go on without progress.
    ///   - signals: What ends it early.
    /// - Returns: What still waits.
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
            Terminal.progress("\(ledger.delivered) events delivered, \(ledger.pending) wait")
            do { try await Task.sleep(for: .seconds(1)) } catch { return }
        }
    }
}
