//! nginx as the load balancer of several servers: round robin over keep-alive connections.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use bench_kit::process::Process;

/// Starts nginx on `port` in front of these servers, with its files in `folder`.
pub fn start(servers: &[u16], port: u16, folder: &Path) -> Result<(u16, Process), String> {
    let folder = folder.canonicalize().map_err(|error| error.to_string())?;
    let path = folder.join("nginx.conf");
    std::fs::write(&path, configuration(servers, port, &folder)).map_err(|error| error.to_string())?;
    let mut command = Command::new("nginx");
    command.arg("-e").arg(folder.join("nginx-error.log")).arg("-p").arg(&folder).arg("-c").arg(&path);
    Ok((port, Process::start(command, &folder.join("nginx.log"))?))
}

fn configuration(servers: &[u16], port: u16, folder: &Path) -> String {
    let folder = folder.display();
    let mut text = format!("worker_processes auto;\ndaemon off;\npid \"{folder}/nginx.pid\";\n");
    text.push_str("events { worker_connections 4096; }\nhttp {\n  access_log off;\n  keepalive_requests 100000000;\n");
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        let _ = writeln!(text, "  {kind}_temp_path \"{folder}/nginx-{kind}\";");
    }
    text.push_str("  upstream servers {\n");
    for server in servers {
        let _ = writeln!(text, "    server 127.0.0.1:{server};");
    }
    let _ = write!(
        text,
        "    keepalive 64;\n    keepalive_requests 100000000;\n  }}\n  server {{\n    listen 127.0.0.1:{port};\n    \
         location / {{\n      proxy_pass http://servers;\n      proxy_http_version 1.1;\n      \
         proxy_set_header Connection \"\";\n    }}\n  }}\n}}\n"
    );
    text
}
