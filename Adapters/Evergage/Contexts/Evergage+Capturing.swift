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

    /// Captures an event, as it is now, for sending.
    func capture(_ event: TrackingEvent, surface: String?) {
        guard isCapturing else { return }
        let captured = captured(.event(event), on: surface)
        if let session, consent.isKnown { return note(event, captured, in: session) }
        waiting.append(captured)
        if captured.isBeforeStart { limitCallsBeforeStart() }
    }

    /// Drops the oldest call before the start if there are more than a hundred; calls after it wait only briefly.
    private func limitCallsBeforeStart() {
        guard waiting.count(where: \.isBeforeStart) > 100, let oldest = waiting.firstIndex(where: \.isBeforeStart)
        else { return }
        waiting.remove(at: oldest)
        drop(.warning, "more than 100 calls wait for the start; the oldest was dropped")
    }

    private func captured(_ content: Captured.Content, on surface: String? = nil) -> Captured {
        Captured(
            content: content,
            date: environment.time.now,
            userID: currentUserID,
            surface: surface,
            isBeforeStart: configuration == nil
        )
    }

    func note(_ event: TrackingEvent, _ captured: Captured, in session: UserSession) {
        do throws(ExperimentationError) {
            try session.trackSoon(event, at: captured.date, on: captured.surface)
        } catch {
            drop(.error, "an event was refused: \(error)")
        }
    }

    /// Captures the launch as it is now: its user, and the data for the next event.
    ///
    /// After a start that failed there is one already, and a process has one alone.
    func captureLaunch(in account: String) {
        guard sendsLifecycleEvents, isListening, !process.launches.contains(account),
            !waiting.contains(where: \.isLaunch)
        else { return }
        var action = EvergageAction(members: [:])
        complete(&action)
        waiting.append(captured(.launch(action)))
    }

    func captureLifecycle(_ name: String) {
        guard sendsLifecycleEvents, configuration != nil, isListening else { return }
        var action = EvergageAction(members: ["action": .string(name)])
        complete(&action)
        capture(action.event, surface: nil)
    }

    /// Adds the account, and the data for the next event.
    func complete(_ action: inout EvergageAction) {
        var account: [String: FlagValue] = [:]
        account.set("id", currentAccountID)
        if action.carriesAttributes {
            if !pendingUserAttributes.isEmpty {
                action.members["user"] = ["attributes": .object(pendingUserAttributes)]
                pendingUserAttributes = [:]
            }
            if !pendingAccountAttributes.isEmpty {
                account["attributes"] = .object(pendingAccountAttributes)
                pendingAccountAttributes = [:]
            }
        }
        if !account.isEmpty { action.members["account"] = .object(account) }
    }

    /// Logs a call that is dropped.
    func drop(_ level: LogLevel, _ text: @autoclosure () -> String) {
        environment.log.log(level, "evergage.call", text())
    }
}
