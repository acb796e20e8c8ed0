import Experimentation

extension Evergage {
    /// Whether anything is captured.
    var isCapturing: Bool {
        !isDisabled && consent.current != .denied && (configuration != nil || preStartPolicy == .queue)
    }

    /// Whether a call is captured; logs why not.
    var isListening: Bool {
        if isCapturing || isDisabled { return isCapturing }
        if consent.current == .denied {
            drop(.info, "a call of a user who denies consent was ignored")
        } else {
            drop(.warning, "a call before the start was ignored")
        }
        return false
    }

    /// Captures a call in its current state, for sending.
    func capture(_ content: Captured.Content, surface: String?) {
        guard isCapturing else { return }
        let captured = captured(content, on: surface)
        if let session, consent.underWay == 0 { return note(captured, in: session) }
        waiting.append(captured)
        limitCallsBeforeStart()
    }

    /// Drops the oldest calls that wait for a start if more than a hundred wait; calls after the start wait only
    /// briefly.
    func limitCallsBeforeStart() {
        let excess = waiting.count { !$0.isLaunch } - 100
        guard configuration == nil, excess > 0 else { return }
        for _ in 0..<excess {
            guard let oldest = waiting.firstIndex(where: { !$0.isLaunch }) else { break }
            takeOut(oldest)
        }
        let which = excess == 1 ? "oldest was" : "oldest \(excess) were"
        drop(.warning, "more than 100 calls wait for the start; the \(which) dropped")
    }

    /// Removes a waiting call; its attributes go with the next call that can carry them, as if it had never been made.
    func takeOut(_ place: Int) {
        let call = waiting.remove(at: place)
        guard var attributes = call.attributes else { return }
        if let next = waiting.indices[place...].first(where: { waiting[$0].attributes != nil }) {
            keepOwn(&attributes, of: call.ids, for: waiting[next].ids)
            waiting[next].attributes?.add(earlier: attributes)
        } else {
            keepOwn(&attributes, of: call.ids, for: ids)
            pending.add(earlier: attributes)
        }
    }

    /// Returns a call in its current state; the data for the next event goes with it, if it can carry any.
    func captured(_ content: Captured.Content, on surface: String? = nil) -> Captured {
        var attributes: EvergageAttributes?
        if case .action(let action) = content, action.carriesAttributes {
            attributes = pending
            pending = [:]
        }
        return Captured(
            content: content,
            date: environment.time.now,
            ids: ids,
            attributes: attributes,
            surface: surface,
            targets: session?.campaignTargets(on: surface) ?? handledTargets(on: surface)
        )
    }

    /// The targets of a surface that have handlers, sorted; used while there is no session to hold the handlers.
    private func handledTargets(on surface: String?) -> [String] {
        contexts.first { $0.surface == surface }?.handlers.keys.sorted() ?? []
    }

    /// Tracks a call as an event of a session.
    func note(_ captured: Captured, in session: UserSession) {
        do throws(ExperimentationError) {
            try session.trackSoon(captured.event, at: captured.date, on: captured.surface, targets: captured.targets)
        } catch {
            drop(.error, "an event was refused: \(error)")
        }
        // The screen may have disappeared while the call waited, and the event has opened its surface again.
        if let surface = captured.surface, !contexts.contains(where: { $0.surface == surface }) {
            session.closeSurface(surface)
        }
    }

    func captureLifecycle(_ name: String) {
        guard sendsLifecycleEvents, configuration != nil, isListening else { return }
        capture(.action(EvergageAction(members: ["action": .string(name)])), surface: nil)
    }

    /// Logs a call that is dropped.
    func drop(_ level: LogLevel, _ text: @autoclosure () -> String) {
        environment.log.log(level, "evergage.call", text())
    }
}
