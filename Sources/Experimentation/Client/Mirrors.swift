// A dump goes through whatever an object holds, and a client holds who its users are. What is shown is what may be read anyhow.

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
    /// A mirror that shows the flags that are there, without the user.
    public var customMirror: Mirror { Mirror(self, children: ["keys": keys]) }
}
