import Synchronization

extension MockServer {
    /// Every exchange since the last ``clearJournal()``, in the order in which requests were completed.
    public var journal: [JournalEntry] { state.withLock { $0.journal } }

    /// The number of exchanges since the last ``clearJournal()``.
    public var journalCount: Int { state.withLock { $0.journal.count + $0.forgotten } }

    /// The number of exchanges that the journal dropped to stay within ``journalLimit``.
    public var forgottenEntries: Int { state.withLock { $0.forgotten } }

    /// The maximum number of exchanges in the journal, which drops the oldest; unlimited by default.
    public var journalLimit: Int {
        get { state.withLock { $0.journalLimit } }
        set { state.withLock { $0.journalLimit = max(1, newValue) } }
    }

    /// The exchanges from an index on, counted since the last ``clearJournal()``.
    public func journal(from index: Int) -> [JournalEntry] {
        state.withLock { Array($0.journal.dropFirst(max(0, index - $0.forgotten))) }
    }

    /// The exchanges of one operation.
    public func journal(of operation: String) -> [JournalEntry] { journal.filter { $0.operation == operation } }

    /// Clears the journal; numbering continues.
    public func clearJournal() { state.withLock { ($0.journal, $0.forgotten) = ([], 0) } }

    /// Forgets the exchanges that have been answered; numbers and ``journalCount`` continue.
    public func forgetAnswered() {
        state.withLock { state in
            let count = state.journal.count
            state.journal.removeAll { $0.response != nil }
            state.forgotten += count - state.journal.count
        }
    }

    /// The remaining faults, with their remaining counts.
    public var script: [ScriptedFault] { state.withLock { $0.script } }

    /// Replaces the fault script.
    ///
    /// The first fault in the list that matches a request is applied; faults that still count down `after` let it pass.
    public func setScript(_ faults: [ScriptedFault]) { state.withLock { $0.script = faults } }

    /// Adds a fault at the end of the script.
    public func addFault(_ fault: ScriptedFault) { state.withLock { $0.script.append(fault) } }

    /// Waits until a number of requests have arrived.
    ///
    /// A request counts as soon as it is complete, before it is answered; ``wait(within:until:)`` can examine the
    /// answer.
    ///
    /// - Parameters:
    ///   - count: The number of requests that the journal must hold.
    ///   - operation: The operation to count; `nil` for all.
    ///   - limit: The maximum time to wait.
    /// - Returns: The requests that were counted.
    /// - Throws: ``MockServerError/timedOut(seconds:seen:)``, or `CancellationError`.
    @discardableResult
    public func waitForRequests(
        count: Int,
        on operation: String? = nil,
        within limit: Duration = .seconds(10)
    ) async throws -> [JournalEntry] {
        @Sendable func counted(_ journal: [JournalEntry]) -> [JournalEntry] {
            operation.map { name in journal.filter { $0.operation == name } } ?? journal
        }
        return counted(try await wait(within: limit) { counted($0).count >= count })
    }

    /// Waits until the journal meets a condition, which is evaluated immediately and after each change.
    ///
    /// - Parameters:
    ///   - limit: The maximum time to wait.
    ///   - condition: Examines the journal; it must be quick and must not call the server.
    /// - Returns: The journal that met the condition.
    /// - Throws: ``MockServerError/timedOut(seconds:seen:)``, or `CancellationError`.
    @discardableResult
    public func wait(
        within limit: Duration = .seconds(10),
        until condition: @escaping @Sendable ([JournalEntry]) -> Bool
    ) async throws -> [JournalEntry] {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let timer = Task {
            try await Task.sleep(for: limit)
            give(waiter: number, .failure(timedOut(after: limit)))
        }
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let met = state.withLock { state -> Result<[JournalEntry], any Error>? in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if condition(state.journal) { return .success(state.journal) }
                    state.waiters[number] = Waiter(condition: condition, continuation: continuation)
                    return nil
                }
                if let met { continuation.resume(with: met) }
            }
        } onCancel: {
            give(waiter: number, .failure(CancellationError()))
        }
    }

    private func give(waiter number: Int, _ result: Result<[JournalEntry], any Error>) {
        let waiter = state.withLock { $0.waiters.removeValue(forKey: number) }
        waiter?.continuation.resume(with: result)
    }

    private func timedOut(after limit: Duration) -> MockServerError {
        let seen = journal.map { "\($0.operation) → \($0.response.map { String($0.status) } ?? "nothing")" }
        return .timedOut(seconds: limit / .seconds(1), seen: seen)
    }

    /// Enters a request in the journal and returns the fault that affects it.
    func enter(_ arrival: Arrival, operation: String, connection: Int) -> (number: Int, fault: Fault?) {
        let text = script.contains { $0.containing != nil } ? vendor.legible(arrival.request) : ""
        return changeJournal { state in
            let fault = State.takeFault(for: operation, holding: text, from: &state.script)
            state.lastEntry += 1
            state.journal.append(
                JournalEntry(
                    number: state.lastEntry,
                    connection: connection,
                    received: (ContinuousClock.now - state.epoch) / .seconds(1),
                    operation: operation,
                    request: arrival.request,
                    fault: fault,
                    bytesIn: arrival.bytes
                )
            )
            state.boundJournal()
            return (state.lastEntry, fault)
        }
    }

    /// Records the answer to a request.
    func note(_ response: MockResponse?, ownFault: Fault?, bytes: Int, for number: Int) {
        changeJournal { state in
            guard let index = state.journal.lastIndex(where: { $0.number == number }) else { return }
            state.journal[index].response = response
            state.journal[index].bytesOut = bytes
            if let ownFault { state.journal[index].fault = ownFault }
        }
    }

    private func changeJournal<Answer>(_ change: (inout State) -> Answer) -> Answer {
        var met: [Waiter] = []
        let (answer, journal) = state.withLock { state -> (Answer, [JournalEntry]) in
            let answer = change(&state)
            for (number, waiter) in state.waiters where waiter.condition(state.journal) {
                state.waiters[number] = nil
                met.append(waiter)
            }
            return (answer, met.isEmpty ? [] : state.journal)
        }
        for waiter in met { waiter.continuation.resume(returning: journal) }
        return answer
    }

    struct Waiter {
        let condition: @Sendable ([JournalEntry]) -> Bool
        let continuation: CheckedContinuation<[JournalEntry], any Error>
    }
}

extension MockServer.State {
    /// Drops the oldest exchanges beyond the limit, in bulk.
    mutating func boundJournal() {
        guard journal.count >= journalLimit, journal.count - journalLimit >= journalLimit / 8 + 1 else { return }
        let surplus = journal.count - journalLimit
        journal.removeFirst(surplus)
        forgotten += surplus
    }

    /// Finds the fault for a request and updates its count.
    static func takeFault(
        for operation: String,
        holding text: String,
        from script: inout [ScriptedFault]
    ) -> Fault? {
        for index in script.indices where script[index].befalls(operation, text: text) {
            if script[index].after > 0 {
                script[index].after -= 1
                continue
            }
            let fault = script[index].fault
            if let times = script[index].times {
                script[index].times = times - 1
                if times <= 1 { script.remove(at: index) }
                if times <= 0 { return takeFault(for: operation, holding: text, from: &script) }
            }
            return fault
        }
        return nil
    }
}
