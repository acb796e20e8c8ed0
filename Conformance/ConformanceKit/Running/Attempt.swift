import Experimentation
import Synchronization

/// One run of a case.
struct Attempt: Sendable {
    /// Why the case doesn't apply; `nil` if it does.
    var inapplicable: String?
    var failures: [Failure] = []
    var story = Story()

    init(inapplicable: String? = nil, failures: [Failure] = [], story: Story = Story()) {
        self.inapplicable = inapplicable
        self.failures = failures
        self.story = story
    }

    /// Creates an outcome for a case that needs a field the wire doesn't carry: excused by a reason, and by nothing
    /// else.
    init(_ subject: any ConformanceSubject, withoutTold field: Received.Field) {
        let lack = "\(subject.name)'s wire doesn't tell \(field.rawValue)"
        if let reason = subject.reason(forUntold: field) {
            inapplicable = "\(lack): \(reason)"
        } else {
            failures = [Failure("\(lack), and gives no reason", file: #fileID, line: #line)]
        }
    }

    /// The number of cases that this process has run.
    private static let playings = Atomic(0)

    static func make(
        _ conformanceCase: ConformanceCase,
        _ subject: any ConformanceSubject,
        within limit: Duration,
        _ stores: CaseStores?
    ) async -> Attempt {
        let stage: any SubjectStage
        let store: ClientStore
        let number = playings.add(1, ordering: .relaxed).newValue
        let playing = CaseAttempt(conformanceCase: conformanceCase, id: String(number))
        let reopen = { @Sendable in try await stores?(playing) }
        do {
            store = if let opened = try await reopen() { opened } else { try await subject.makeStore() }
            let opened = try await Bounded.run(for: limit) { try await subject.open(conformanceCase.world) }
            stage = UnexcusedStage(inner: opened)
        } catch let error as Bounded.TimeIsUp {
            let failure = Failure("\(subject.name) hangs while it is opened: \(error)", file: #fileID, line: #line)
            return Attempt(failures: [failure])
        } catch {
            let failure = Failure("\(subject.name) can't be opened: \(error)", file: #fileID, line: #line)
            return Attempt(failures: [failure])
        }
        let gaps = await stage.gaps
        let needs = conformanceCase.needs
        if let message = subject.contradiction(among: gaps, in: conformanceCase.world, for: needs) {
            await stage.close()
            return Attempt(failures: [Failure(message, file: #fileID, line: #line)])
        }
        if let gap = gaps.first(where: { needs.contains(where: $0.covers) }) {
            await stage.close()
            return Attempt(inapplicable: gap.description)
        }
        let probe = Probe(subject: subject, stage: stage, world: conformanceCase.world, store: store)
        probe.state.withLock { $0.reopen = reopen }
        var inapplicable: String?
        var expectations = 0
        do {
            // On a busy machine, a case about hundreds of users takes long without hanging.
            try await Bounded.run(for: limit, while: { probe.state.withLock { $0.steps.count + $0.expectations } }) {
                try await stage.play(conformanceCase.faults, of: subject)
                try await conformanceCase.steps(probe)
            }
            // The checks after every case don't count as the case's own expectations.
            expectations = probe.state.withLock { $0.expectations }
            await probe.checkWhatAlwaysHolds()
        } catch let nothing as CaseDoesNotApply {
            inapplicable = nothing.reason
        } catch SubjectError.unsupported(let reason) {
            probe.fail("\(subject.name) declares what this case needs and says that it is unsupported: \(reason)")
        } catch is CaseStopped {
            // The failure was noted where it occurred.
        } catch let error as Bounded.TimeIsUp {
            probe.fail("\(subject.name) hangs: \(error)")
        } catch {
            probe.fail("unexpected error: \(error)")
        }
        let exchanges = (try? await stage.exchanges()) ?? []
        await probe.close()
        await stage.close()
        let (failures, steps) = probe.state.withLock { ($0.failures, $0.steps) }
        var attempt = Attempt(
            inapplicable: failures.isEmpty ? inapplicable : nil,
            failures: failures,
            story: Story(steps: steps, exchanges: exchanges)
        )
        if expectations == 0, failures.isEmpty, inapplicable == nil {
            attempt.failures = [Failure("the case expected nothing", file: #fileID, line: #line)]
        }
        return attempt
    }
}

extension Probe {
    /// Checks what holds after every case: the ledger balances, and no secret was logged.
    func checkWhatAlwaysHolds() async {
        if let client = state.withLock({ $0.client }), let ledgers = try? await client.ledgers() {
            for (destination, ledger) in ledgers {
                expect(ledger.isBalanced, "the ledger of \(destination) doesn't balance: \(ledger)")
            }
        }
        let text = log.text
        for secret in stage.secrets where secret.count >= 4 {
            expect(!text.contains(secret), "the log contains a secret")
        }
    }

    /// Shuts down the clients of this case.
    func close() async {
        let clients = state.withLock { state in
            state.cut?.cut()
            return [state.client].compactMap { $0 } + state.others
        }
        for client in clients { await Self.end(client) }
    }

    /// Shuts a client down without delivering anything, and waits for that for two seconds at most.
    static func end(_ client: ExperimentationClient) async {
        let ending = Task { await client.shutdown(within: .milliseconds(1)) }
        _ = try? await Bounded.run(for: .seconds(2)) { await ending.value }
    }
}
