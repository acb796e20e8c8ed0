// `dump` walks through everything an object holds, and a client holds its users. Show only what is readable anyway.

extension ExperimentationClient: CustomReflectable {
    /// A mirror that shows the client's state without user data.
    public var customMirror: Mirror { Mirror(self, children: ["provider": providerName, "status": status]) }
}

extension UserSession: CustomReflectable {
    /// A mirror that shows the session's state without its user.
    public var customMirror: Mirror {
        Mirror(self, children: ["provider": core.provider.name, "status": core.status.status])
    }
}

extension UserDecisions: CustomReflectable {
    /// A mirror that shows the flags' keys, without the user.
    public var customMirror: Mirror { Mirror(self, children: ["keys": keys]) }
}
